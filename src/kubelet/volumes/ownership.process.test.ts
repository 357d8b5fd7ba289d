import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import { Place } from "#lib/fs/place.ts";
import { walkBelow } from "#lib/fs/walk.ts";
import { giveToGroup } from "./ownership.ts";

suite("walkBelow()", { timeout: 120_000 }, () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-walk-`);
    await mkdir(`${dir}/host`);
    await writeFile(`${dir}/host/shadow`, "", { mode: 0o600 });
    await mkdir(`${dir}/volume`);
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const visited = async (meanwhile: () => Promise<void> = async () => {}): Promise<Set<number>> => {
    const seen = new Set<number>();
    await using root = await Place.open(`${dir}/volume`);
    await walkBelow(root, async (_place, { ino }) => {
      seen.add(ino);
      await meanwhile();
    });
    return seen;
  };

  test("visits everything at any depth, without following links", async () => {
    const names = Array.from({ length: 100 }, (_, at) => `d${at}`);
    await mkdir(`${dir}/volume/${names.join("/")}`, { recursive: true });
    await writeFile(`${dir}/volume/${names.join("/")}/file`, "");
    await writeFile(Buffer.concat([Buffer.from(`${dir}/volume/`), Buffer.from([0xff, 0xfe])]), "");
    await symlink(`${dir}/host`, `${dir}/volume/link`);

    const seen = await visited();

    assert.equal(seen.size, 103);
    assert(seen.has((await stat(`${dir}/volume/${names.join("/")}/file`)).ino));
    assert(!seen.has((await stat(`${dir}/host`)).ino));
  });

  test("a directory that becomes a link after it was seen does not lead outside", async () => {
    await mkdir(`${dir}/volume/a/b`, { recursive: true });
    let isSwapped = false;

    const seen = await visited(async () => {
      if (isSwapped) return;
      isSwapped = true;
      await rename(`${dir}/volume/a`, `${dir}/away`);
      await symlink(`${dir}/host`, `${dir}/volume/a`);
    });

    assert(isSwapped);
    assert(!seen.has((await stat(`${dir}/host/shadow`)).ino));
  });

  test("giveToGroup() changes no file of the host while a pod swaps directories with links", async () => {
    for (let at = 0; at < 20; at++) await mkdir(`${dir}/volume/d${at}/sub`, { recursive: true });
    const swap = `
      const fs = require("fs");
      for (;;) for (let at = 0; at < 20; at++) {
        const d = "${dir}/volume/d" + at;
        fs.renameSync(d + "/sub", d + "/.sub"); fs.symlinkSync("${dir}/host", d + "/sub");
        fs.unlinkSync(d + "/sub"); fs.renameSync(d + "/.sub", d + "/sub");
      }`;
    const pod = spawn(process.execPath, ["-e", swap]);
    try {
      for (let round = 0; round < 30; round++) await giveToGroup(`${dir}/volume`, { group: 4242, policy: "Always" });
    } finally {
      await end(pod);
    }

    for (const file of ["host", "host/shadow"]) assert.equal((await stat(`${dir}/${file}`)).gid, 0);
    assert.equal((await stat(`${dir}/host/shadow`)).mode & 0o777, 0o600);
    assert.equal((await stat(`${dir}/volume/d0`)).gid, 4242);
  });
});

async function end(child: ReturnType<typeof spawn>): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
