import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import { runCommand } from "#lib/process/processes.ts";
import { errorCode, isGone } from "#lib/text/error-code.ts";
import { LeadsOut, openBelow, readOwnFile, readRegularFile } from "./open-below.ts";

const maxBytes = 100;

suite("openBelow()", { timeout: 120_000 }, () => {
  let dir: string;
  const read = async (path: string) => {
    await using place = await openBelow(`${dir}/root`, path);
    return (await readRegularFile(place, { maxBytes })).toString();
  };

  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-below-`);
    await mkdir(`${dir}/root/a/b`, { recursive: true });
    await writeFile(`${dir}/root/a/b/file`, "inside");
    await writeFile(`${dir}/secret`, "outside");
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  test("follows links that stay below", async () => {
    await symlink("a/b", `${dir}/root/relative`);
    await symlink(`${dir}/root/a`, `${dir}/root/absolute`);
    await symlink("../b/./file", `${dir}/root/a/b/up`);

    for (const path of ["a/b/file", "./a//b/file", "relative/file", "absolute/b/file", "a/b/up"]) {
      assert.equal(await read(path), "inside");
    }
  });

  test("refuses every path that leads out", async () => {
    await symlink("/", `${dir}/root/slash`);
    await symlink("../secret", `${dir}/root/out`);
    await symlink("../../..", `${dir}/root/a/b/far`);
    await symlink("loop", `${dir}/root/loop`);
    await symlink(`${dir}/root-beside`, `${dir}/root/beside`);

    for (const path of ["/etc/passwd", "../secret", "slash/etc/passwd", "out", "a/b/far/x", "loop", "beside"]) {
      await assert.rejects(read(path), LeadsOut);
    }
    await assert.rejects(read("a/../../secret"), LeadsOut);
    await assert.rejects(read("x/".repeat(10_000)), LeadsOut);
    await assert.rejects(read("no/such"), { code: "ENOENT" });
    await assert.rejects(read("a/b/file/x"), { code: "ENOTDIR" });
  });

  test("a directory that is moved out during the walk does not lead elsewhere", async () => {
    await using place = await openBelow(`${dir}/root`, "a/b");
    await rename(`${dir}/root/a/b`, `${dir}/moved`);
    await symlink("/etc", `${dir}/root/a/b`);

    assert.deepEqual(await readdir(place.path), ["file"]);
    await assert.rejects(read("a/b/passwd"), LeadsOut);
  });

  test("never opens anything outside while directories are swapped with links", async () => {
    await mkdir(`${dir}/host/b`, { recursive: true });
    await writeFile(`${dir}/host/b/shadow`, "");
    const swap = `
      const fs = require("fs");
      fs.writeFileSync("${dir}/ready", "");
      for (;;) {
        fs.renameSync("${dir}/root/a", "${dir}/root/.a"); fs.symlinkSync("${dir}/host", "${dir}/root/a");
        fs.unlinkSync("${dir}/root/a"); fs.renameSync("${dir}/root/.a", "${dir}/root/a");
      }`;
    const pod = spawn(process.execPath, ["-e", swap]);
    const found = new Set<string>();
    try {
      while (!existsSync(`${dir}/ready`)) await readdir(dir);
      for (let round = 0; round < 1000; round++) {
        try {
          await using place = await openBelow(`${dir}/root`, "a/b");
          for (const name of await readdir(place.path)) found.add(name);
        } catch (error) {
          // An entry that is missing right now, or leads out, is not opened.
          if (!(error instanceof LeadsOut) && !isGone(error) && errorCode(error) !== "EINVAL") throw error;
        }
      }
    } finally {
      const ended = once(pod, "exit");
      pod.kill("SIGKILL");
      await ended;
    }

    assert.deepEqual([...found], ["file"]);
  });

  test("makes no directories through links", async () => {
    await symlink("a/none", `${dir}/root/dangling`);

    await using _made = await openBelow(`${dir}/root`, "a/new/deep", { makeMissing: true });
    await assert.rejects(openBelow(`${dir}/root`, "dangling/x", { makeMissing: true }), LeadsOut);

    assert.deepEqual((await readdir(`${dir}/root/a`)).toSorted(), ["b", "new"]);
  });

  test("reads only regular files: a FIFO does not block, and a file that is too large is refused", async () => {
    await runCommand("mkfifo", [], { operands: [`${dir}/root/fifo`] });
    await truncate(`${dir}/root/a/b/file`, 1 << 30);

    // More than the process has threads for files.
    const fifos = Array.from({ length: 16 }, () => assert.rejects(read("fifo"), /not a regular file/));
    await Promise.all(fifos);
    await assert.rejects(read("a"), /not a regular file/);
    await assert.rejects(read("a/b/file"), /larger than 100 bytes/);
    await assert.rejects(readOwnFile("/dev/zero", { maxBytes }), /not a regular file/);
  });

  test("can read the end of a large file", async () => {
    await using file = await open(`${dir}/root/log`, "w");
    await file.write(Buffer.from("the end"), 0, 7, 1 << 30);

    const words = await readOwnFile(`${dir}/root/log`, { maxBytes: 7, from: "end" });

    assert.equal(words?.toString(), "the end");
    assert.equal(await readOwnFile(`${dir}/none`, { maxBytes }), undefined);
  });
});
