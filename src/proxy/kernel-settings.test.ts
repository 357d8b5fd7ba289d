import assert from "node:assert/strict";
import { test } from "node:test";
import { type Host } from "./apply.ts";
import { prepareKernel, restoreKernel } from "./kernel-settings.ts";

const localnet = "net/ipv4/conf/all/route_localnet";
const bridge = "net/bridge/bridge-nf-call-iptables";

/** A machine with these settings, where these tables say that they changed `route_localnet`. */
function machine(settings: Record<string, string>, tables: readonly string[] = []): Host {
  const sets = tables.map(
    (name) =>
      `table ip ${name} {\n\tset cluster-ips {\n\t}\n\tset changed/route_localnet {\n\t\ttype ipv4_addr\n\t}\n}\n`,
  );
  return {
    run: async () => sets.join(""),
    readSetting: async (path) => settings[path],
    writeSetting: async (path, value) => {
      settings[path] = value;
    },
  };
}

test("prepareKernel() turns on what is off, and says what", async () => {
  const settings = { [localnet]: "0", [bridge]: "1" };

  assert.deepEqual(await prepareKernel(machine(settings)), { changed: ["route_localnet"], bridgeIsFiltered: true });
  assert.equal(settings[localnet], "1");
});

test("prepareKernel() does without a bridge that shows its packets", async () => {
  assert.deepEqual(await prepareKernel(machine({ [localnet]: "1" })), { changed: [], bridgeIsFiltered: false });
});

test("what was turned on for several tables is turned off with the last", async () => {
  const settings = { [localnet]: "1", [bridge]: "1" };
  const { changed } = await prepareKernel(machine(settings, ["one"]));
  assert.deepEqual(changed, ["route_localnet"]);

  await restoreKernel(machine(settings, ["one", "two"]), "one");
  assert.equal(settings[localnet], "1");
  await restoreKernel(machine(settings, ["two"]), "other");
  assert.equal(settings[localnet], "1");
  await restoreKernel(machine(settings, ["two"]), "two");
  assert.equal(settings[localnet], "0");
});
