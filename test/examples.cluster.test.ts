import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { type Resource } from "#api/resource.ts";
import { loadScheduling } from "#cluster/scheduling/load.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { sharedSettings } from "../examples/controller.ts";
import { Alarm } from "../examples/kind.ts";

const labels = { settings: "shared" };
const original = { namespace: "default", name: "settings" };

test("the example controller copies settings, follows changes and repairs copies", async () => {
  await using cluster = await startCluster({
    components: (deps) => [(signal) => runReconcilers([sharedSettings], deps, signal)],
  });
  const copies = async (): Promise<Record<string, string | undefined>> => {
    const found = (await cluster.list(ConfigMap)).filter(({ metadata }) => metadata.name === "settings");
    return Object.fromEntries(found.map(({ metadata, data }) => [metadata.namespace, data?.color]));
  };
  await cluster.apply(Namespace, { metadata: { name: "shop", labels } });
  await cluster.apply(Namespace, { metadata: { name: "office" } });
  await cluster.apply(ConfigMap, { metadata: original, data: { color: "blue" } });
  await cluster.settle();
  assert.deepEqual(await copies(), { default: "blue", shop: "blue" });

  await cluster.apply(ConfigMap, { metadata: original, data: { color: "red" } });
  await cluster.client.delete(ConfigMap, { namespace: "shop", name: "settings" });
  await cluster.settle();

  assert.deepEqual(await copies(), { default: "red", shop: "red" });
});

test("the example kind is served with its defaults, checks and merge rules", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { api, client } = cluster;
  api.resources.add(Alarm as unknown as Resource);
  const metadata = { namespace: "default", name: "early" };

  const created = await client.create(Alarm, { metadata, spec: { at: "07:30", days: ["Mon"] } });
  const patch = { type: "strategic", body: { spec: { days: ["Tue"] } } } as const;
  const { spec } = await client.patch(Alarm, metadata, patch);

  assert.equal(created.metadata.generation, 1);
  assert.deepEqual(spec, { at: "07:30", sound: "Bell", days: ["Tue", "Mon"] });
  const status = { lastRangAt: "2026-01-05T07:30:00Z" };
  const rung = await client.updateStatus(Alarm, { metadata, status });
  assert.deepEqual({ status: rung.status, spec: rung.spec }, { status, spec });
  await assert.rejects(client.create(Alarm, { metadata: { ...metadata, name: "late" }, spec: { at: "25:00" } }), {
    reason: "Invalid",
    message: /spec.at: Invalid value: "25:00": must be a time of the day, such as 07:30/,
  });
});

test("the example plugin spreads the pods of a team", async () => {
  const file = path.join(import.meta.dirname, "../examples/scheduler-plugin.yaml");
  const { setup } = await loadScheduling(file, { log: silentLog, clock: systemClock });
  await using cluster = await startCluster({ nodes: 3, scheduler: setup });
  await cluster.settle();
  const containers = [{ name: "main", image: "web:1" }];
  const labels = { team: "blue" };

  for (const name of ["a", "b", "c"]) {
    await cluster.apply(Pod, { metadata: { namespace: "default", name, labels }, spec: { containers } });
    await cluster.settle();
  }

  const nodes = (await cluster.list(Pod)).map(({ spec }) => spec.nodeName);
  assert.deepEqual(nodes.sort(), ["node-1", "node-2", "node-3"]);
});

test("the examples for users of the package run in a checkout too", () => {
  const root = path.resolve(import.meta.dirname, "..");
  const program = [
    'import { startCluster } from "orlop/testing";',
    'import { StatusError } from "orlop/status";',
    'import { Pod } from "orlop/api/core/pod.ts";',
    "console.log(startCluster.name, StatusError.name, Pod.kind);",
  ].join("\n");

  const said = execFileSync("./orlop", ["run", "--input-type=module", "--eval", program], {
    cwd: root,
    encoding: "utf8",
  });

  assert.equal(said, "startCluster StatusError Pod\n");
});
