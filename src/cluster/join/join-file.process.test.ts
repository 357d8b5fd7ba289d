import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { JoinError } from "./cluster-info.ts";
import { readJoinFile, writeJoinFile } from "./join-file.ts";

test("an agent reads what it was told, and says which file is damaged", async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), "orlop-join-"));
  t.after(() => rm(dataDir, { recursive: true }));
  assert.equal(await readJoinFile(dataDir), undefined);
  const told = {
    server: "https://10.0.0.1:6443",
    nodeName: "a",
    kubeletPort: 10250,
    kubeletFiles: { config: "/etc/k.yaml" },
  };

  await writeJoinFile(dataDir, told);

  assert.deepEqual(await readJoinFile(dataDir), told);
  await writeFile(path.join(dataDir, "join.json"), '{"server": "https:');
  await assert.rejects(readJoinFile(dataDir), (error) => {
    return error instanceof JoinError && /join\.json is damaged: give --server and --token again$/.test(error.message);
  });
});
