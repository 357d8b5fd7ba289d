import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { CommandError } from "#lib/process/processes.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { type Host } from "../apply.ts";
import { runProxy } from "../proxy.ts";
import { NetworkPolicies } from "./network-policies.ts";
import { TrafficGuard } from "./traffic-guard.ts";

function setup() {
  const informers = createFakeInformers();
  const faults = new Map<string, readonly string[]>();
  const policies = new NetworkPolicies({
    ...{ informers, nodeName: "node-1", family: "ip", bridgeIsFiltered: true },
    onChange: () => {},
    report: ({ metadata }, found) => void faults.set(metadata.name, found),
  });
  policies.start();
  const put = (name: string, peers: number) => {
    const from = Array.from({ length: peers }, () => ({ podSelector: {} }));
    informers.put(NetworkPolicy, {
      metadata: { namespace: "one", name },
      spec: { podSelector: {}, ingress: [{ from }] },
    });
  };
  const plan = () =>
    policies.plan(
      () => {},
      async () => {},
    );
  return { informers, policies, faults, put, plan };
}

test("a policy that did not fit gets its rules when another one of its namespace becomes smaller", async () => {
  const { faults, put, plan } = setup();
  for (let n = 0; n < 10; n++) put(`p${n}`, 660);
  put("last", 660);
  await plan();
  assert.equal(faults.get("last")?.length, 1);

  put("p3", 1);
  await plan();

  assert.deepEqual(faults.get("last"), []);
});

const podOf = (name: string) => ({
  metadata: { namespace: "one", name },
  spec: { nodeName: "node-1", containers: [{ name: "main", image: "i" }] },
  status: {},
});

test("NetworkPolicies.expect() refuses a pod that is gone, so that its address leaves nothing behind", () => {
  const { informers, policies, put } = setup();
  put("p", 1);
  const gone = informers.put(Pod, podOf("gone"));
  informers.delete(Pod, { namespace: "one", name: "gone" });

  assert.throws(() => policies.expect(gone, ["10.0.0.9"]), /pod one\/gone does not exist any more/);
  assert.equal(policies.expect(informers.put(Pod, podOf("there")), ["10.0.0.8"]), true);
  const annotations = { "kubernetes.io/config.source": "file" };
  const fromFile = { ...gone, metadata: { ...gone.metadata, annotations } };
  assert.equal(policies.expect(fromFile, ["10.0.0.7"]), true, "the API does not have a static pod yet");
});

/** A proxy whose kernel refuses some rules. `turn` is called whenever planning lets others work. */
function startProxy(refuses: (text: string) => boolean, turn: () => void = () => {}) {
  const informers = createFakeInformers();
  const accepted: string[] = [];
  const host: Host = {
    async run(command, args, input = "") {
      if (command !== "nft" || args.at(-1) !== "-") return "";
      if (refuses(input)) throw new CommandError("nft -f -", 1, "/dev/stdin:1:1-2: Error: Not supported");
      if (args[0] !== "-c") accepted.push(input);
      return "";
    },
    readSetting: async () => undefined,
    writeSetting: async () => {},
    eachLine: async () => {},
    addresses: async () => [],
  };
  let nowMs = 0;
  const clock = {
    ...systemClock,
    // Everything seems to take long, so that planning pauses at every opportunity.
    now: () => (nowMs += 25),
    async sleep(ms: number, signal?: AbortSignal) {
      if (ms === 0) turn();
      await systemClock.sleep(ms, signal);
    },
  };
  const guard = new TrafficGuard(systemClock);
  const stop = new AbortController();
  const ranges = { podCidr: "10.0.0.0/24", clusterCidr: "10.0.0.0/16", serviceCidr: "10.1.0.0/24", ownPorts: [] };
  const deps = { ...ranges, tableName: "t", nodeName: "node-1", informers, clock, log: silentLog, host, guard };
  const ended = runProxy({ ...deps, healthAddress: "127.0.0.1" }, stop.signal);
  return {
    ...{ informers, accepted, guard },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

const allowing = { metadata: { namespace: "one", name: "p" }, spec: { podSelector: {}, ingress: [{}] } };

test("a pod whose policies the kernel refuses is isolated before it runs", async () => {
  await using proxy = startProxy((text) => / ingress\/\w+ return/.test(text));
  proxy.informers.put(NetworkPolicy, allowing);

  await proxy.guard.restrict(proxy.informers.put(Pod, podOf("a")), ["10.0.0.5"]);

  assert.match(proxy.accepted.join(""), /add element ip t ingress \{ 10\.0\.0\.5 : jump ingress\/\w+ \}/);
});

test("a pod that starts while its rules are being planned does not wait for the next change", async () => {
  let restricted: Promise<void> | undefined;
  await using proxy = startProxy(
    () => false,
    () => {
      restricted ??= proxy.guard.restrict(proxy.informers.put(Pod, podOf("a")), ["10.0.0.5"]);
    },
  );
  await proxy.guard.restrict(proxy.informers.put(Pod, podOf("first")), ["10.0.0.4"]);

  proxy.informers.put(NetworkPolicy, allowing);
  while (!restricted) await systemClock.sleep(1);
  await restricted;

  assert.match(proxy.accepted.join(""), /10\.0\.0\.5 : jump ingress/);
});
