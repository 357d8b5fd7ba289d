import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import { mount, unmountUnder } from "./mounts.ts";
import { removeTree } from "./remove-tree.ts";

suite("removeTree()", { timeout: 300_000 }, () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-remove-`);
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  test("removes a tree with paths over the kernel's limit and names that are not text", async () => {
    const name = "d".repeat(200);
    // Made from the inside out, because no path can reach its deepest directory.
    await mkdir(`${dir}/tree`);
    for (let level = 0; level < 100; level++) {
      await mkdir(`${dir}/next`);
      await writeFile(`${dir}/next/file`, "");
      await rename(`${dir}/tree`, `${dir}/next/${name}`);
      await rename(`${dir}/next`, `${dir}/tree`);
    }
    await writeFile(Buffer.concat([Buffer.from(`${dir}/tree/`), Buffer.from([0xff])]), "");
    await writeFile(`${dir}/tree/.removed-0`, "");

    await removeTree(`${dir}/tree`);

    assert.deepEqual(await readdir(dir), []);
  });

  test("removes links but not their targets, and accepts that an entry is gone", async () => {
    await mkdir(`${dir}/tree/sub`, { recursive: true });
    await mkdir(`${dir}/host`);
    await writeFile(`${dir}/host/file`, "");
    await symlink(`${dir}/host`, `${dir}/tree/sub/link`);
    await symlink(`${dir}/host`, `${dir}/link`);

    await removeTree(`${dir}/tree`);
    await removeTree(`${dir}/link`);
    await removeTree(`${dir}/none/at/all`);

    assert.deepEqual(await readdir(dir), ["host"]);
    assert.deepEqual(await readdir(`${dir}/host`), ["file"]);
  });

  test("does not enter a file system that is mounted inside", async () => {
    await mkdir(`${dir}/tree/disk`, { recursive: true });
    await mount({ type: "tmpfs", source: "tmpfs", target: `${dir}/tree/disk` });
    await writeFile(`${dir}/tree/disk/data`, "");
    try {
      await assert.rejects(removeTree(`${dir}/tree`), /another file system is mounted at disk/);

      assert.deepEqual(await readdir(`${dir}/tree/disk`), ["data"]);
    } finally {
      await unmountUnder([dir], "strict");
    }
  });
});
