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
  masquerade: true,
  dataDir: "/d",
  hostPorts: true,
};

test("renderCniConfig() is a chain of bridge and portmap", () => {
  const { plugins } = JSON.parse(renderCniConfig(network));

  assert.deepEqual(
    plugins.map(({ type }: { type: string }) => type),
    ["bridge", "portmap"],
  );
  assert.deepEqual(plugins[0].ipam, { type: "host-local", ranges: [[{ subnet: "10.1.0.0/24" }]], dataDir: "/d" });
  assert.equal(plugins[0].mtu, 1400);
});

test("writeCniConfig() leaves one configuration, since a runtime would take the first", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-cni-`);
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(`${dir}/00-old.conflist`, "{}");

  await writeCniConfig(dir, network);

  assert.deepEqual(await readdir(dir), ["10-n.conflist"]);
});
