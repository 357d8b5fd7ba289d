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

test("renderCniConfig() gives each pod a link of its own", () => {
  const { plugins } = JSON.parse(renderCniConfig(network));

  const ipam = { type: "host-local", ranges: [[{ subnet: "10.1.0.0/24" }]], dataDir: "/d" };
  assert.deepEqual(plugins, [{ type: "ptp", ipam: { ...ipam, routes: [{ dst: "0.0.0.0/0" }] }, mtu: 1400 }]);
});

test("renderCniConfig() puts pods with addresses of both families on the bridge", () => {
  const { plugins } = JSON.parse(renderCniConfig({ ...network, podCidrs: ["10.1.0.0/24", "fd00::/64"], mtu: 0 }));

  assert.equal(plugins.length, 1);
  const { type, bridge, ipam, mtu } = plugins[0];
  assert.deepEqual({ type, bridge, mtu }, { type: "bridge", bridge: "b", mtu: undefined });
  assert.deepEqual(ipam.ranges, [[{ subnet: "10.1.0.0/24" }], [{ subnet: "fd00::/64" }]]);
});

test("writeCniConfig() leaves one configuration, because the runtime uses the first", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-cni-`);
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(`${dir}/00-old.conflist`, "{}");

  await writeCniConfig(dir, network);

  assert.deepEqual(await readdir(dir), ["10-n.conflist"]);
});
