import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { volumeDirectories } from "./directories.ts";

async function withTemp(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-volumes-"));
  try {
    await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

test("a volume's directory is open to every user below one that is not, and is removed without what its links lead to", () =>
  withTemp(async (dir) => {
    const volumes = volumeDirectories(`${dir}/volumes`);
    await writeFile(`${dir}/precious`, "kept");
    await volumes.make("a");
    await volumes.make("a");
    const modes = [(await stat(`${dir}/volumes`)).mode & 0o777, (await stat(volumes.pathOf("a"))).mode & 0o777];
    assert.deepEqual(modes, [0o700, 0o777]);

    await mkdir(`${dir}/volumes/a/deep`);
    await symlink(dir, `${dir}/volumes/a/deep/out`);
    await volumes.remove("a");
    await volumes.remove("a");
    assert.deepEqual(await readdir(`${dir}/volumes`), []);
    assert.equal(await readFile(`${dir}/precious`, "utf8"), "kept");
  }));

test("tidy() removes what is empty and unknown, and nothing that has files", () =>
  withTemp(async (dir) => {
    const volumes = volumeDirectories(dir);
    for (const name of ["known", "empty", "full"]) await volumes.make(name);
    await writeFile(`${dir}/full/file`, "data");

    await volumes.tidy((name) => name === "known");

    assert.deepEqual((await readdir(dir)).sort(), ["full", "known"]);
  }));
