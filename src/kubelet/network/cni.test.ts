import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { renderCniConfig, writeCniConfig } from "./cni.ts";

const network = {
  name: "n",
  bridge: "b",
  podCidrs: ["10.1.0.0/24"],
  mtu: 1400,
  dataDir: "/d",
};

test("renderCniConfig() gives pods an address on the bridge", () => {
  const { plugins } = JSON.parse(renderCniConfig(network));

  assert.deepEqual(
    plugins.map(({ type }: { type: string }) => type),
    ["bridge"],
  );
  assert.deepEqual(plugins[0].ipam, { type: "host-local", ranges: [[{ subnet: "10.1.0.0/24" }]], dataDir: "/d" });
  assert.equal(plugins[0].mtu, 1400);
});

test("writeCniConfig() leaves one configuration, because the runtime uses the first", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-cni-`);
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(`${dir}/00-old.conflist`, "{}");

  await writeCniConfig(dir, network);

  assert.deepEqual(await readdir(dir), ["10-n.conflist"]);
});
