import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Host } from "../apply.ts";
import { runProxy } from "../proxy.ts";
import { planKernel, restoreKernel } from "./kernel-settings.ts";

const localnet = "net/ipv4/conf/all/route_localnet";
const bridge = "net/bridge/bridge-nf-call-iptables";

/** A machine with these settings, on which these tables record that they changed `route_localnet`. */
function machine(settings: Record<string, string>, tables: readonly string[] = []): Host {
  const sets = tables.map(
    (name) =>
      `table ip ${name} {\n\tset cluster-ips {\n\t}\n\tset changed/route_localnet {\n\t\ttype ipv4_addr\n\t}\n}\n`,
  );
  return {
    run: async () => sets.join(""),
    eachLine: async () => {},
    addresses: async () => [],
    readSetting: async (path) => settings[path],
    writeSetting: async (path, value) => {
      settings[path] = value;
    },
  };
}

test("planKernel() lists the settings that are off, and turns them on when asked", async () => {
  const settings = { [localnet]: "0", [bridge]: "1" };

  const plan = await planKernel(machine(settings));
  assert.deepEqual([plan.changed, plan.bridgeIsFiltered], [["route_localnet"], true]);
  assert.equal(settings[localnet], "0");

  await plan.turnOn();
  assert.equal(settings[localnet], "1");
});

test("planKernel() accepts a kernel without bridge filtering", async () => {
  const plan = await planKernel(machine({ [localnet]: "1" }));

  assert.deepEqual([plan.changed, plan.bridgeIsFiltered], [[], false]);
});

test("planKernel() leaves bridges alone where every pod has a link of its own", async () => {
  const settings = { [localnet]: "0", [bridge]: "0" };

  const plan = await planKernel(machine(settings), { hasBridge: false });
  await plan.turnOn();

  assert.deepEqual(plan.changed, ["route_localnet"]);
  assert.equal(settings[bridge], "0");
});

test("what was turned on for several tables is turned off with the last", async () => {
  const settings = { [localnet]: "1", [bridge]: "1" };
  const { changed } = await planKernel(machine(settings, ["one"]));
  assert.deepEqual(changed, ["route_localnet"]);

  await restoreKernel(machine(settings, ["one", "two"]), "one");
  assert.equal(settings[localnet], "1");
  await restoreKernel(machine(settings, ["two"]), "other");
  assert.equal(settings[localnet], "1");
  await restoreKernel(machine(settings, ["two"]), "two");
  assert.equal(settings[localnet], "0");
});

test("a proxy turns settings on after the table that guards them", async () => {
  const done: string[] = [];
  const host: Host = {
    run: async (command, _args, input = "") => {
      if (input.includes("add table")) done.push(command);
      return "";
    },
    eachLine: async () => {},
    readSetting: async () => "0",
    writeSetting: async (path) => void done.push(path),
    addresses: async () => [],
  };
  const stop = new AbortController();
  const config = { tableName: "t", podCidr: "10.244.0.0/24", clusterCidr: "10.244.0.0/16", nodeName: "n" };

  await runProxy(
    {
      ...{ ...config, host, informers: createFakeInformers(), clock: createVirtualClock(), log: silentLog },
      onApplied: () => stop.abort(),
    },
    stop.signal,
  );

  assert.deepEqual(done, ["nft", localnet, bridge]);
});
