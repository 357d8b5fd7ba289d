import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { type InputOf } from "#api/resource.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Host } from "./apply.ts";
import { OwnEndpoint } from "./own-endpoint.ts";
import { TrafficGuard } from "./policy/traffic-guard.ts";
import { runProxy } from "./proxy.ts";

/** Takes the rules; `nft` returns after `work`. */
const hostThatRecords = (sent: string[], work: () => Promise<void> = async () => {}): Host => ({
  async run(_command, args, input = "") {
    if (args[0] !== "-f") return "";
    sent.push(input);
    await work();
    return "";
  },
  readSetting: async () => undefined,
  writeSetting: async () => {},
  eachLine: async () => {},
  addresses: async () => [],
});

const serviceAt = (name: string, clusterIP: string): InputOf<Service> => ({
  metadata: { namespace: "kube-system", name },
  spec: { type: "ClusterIP", sessionAffinity: "None", clusterIP, ports: [{ port: 53, protocol: "UDP" }] },
  status: { loadBalancer: {} },
});

for (const { took, pause } of [
  { took: 0, pause: 10 },
  { took: 25, pause: 25 },
  { took: 900, pause: 50 },
]) {
  test(`after a transaction of ${took} ms the proxy collects changes for ${pause} ms`, async () => {
    const clock = createVirtualClock(0);
    const informers = createFakeInformers();
    const sent: string[] = [];
    const host = hostThatRecords(sent, () => clock.sleep(took, neverAborted));
    const stop = new AbortController();
    const ranges = { tableName: "t", podCidr: "10.244.0.0/24", clusterCidr: "10.244.0.0/16" };
    const base = { nodeName: "node-1", informers, clock, log: silentLog, host };
    const running = runProxy({ ...base, ...ranges }, stop.signal);
    await clock.advance(2_000);
    sent.splice(0);

    informers.put(Service, serviceAt("one", "10.96.0.1"));
    await clock.advance(took);
    informers.put(Service, serviceAt("two", "10.96.0.2"));
    await clock.advance(pause - 1);
    informers.put(Service, serviceAt("three", "10.96.0.3"));
    const before = sent.length;
    await clock.advance(1);

    assert.deepEqual([before, sent.length], [1, 2]);
    assert.match(sent[1] ?? "", /10\.96\.0\.2[\s\S]*10\.96\.0\.3/);
    stop.abort();
    await clock.advance(2_000);
    await running;
  });
}

test("a proxy that runs again for another pod range leads to the node's own server, and answers for new pods", async () => {
  const clock = createVirtualClock(0);
  const informers = createFakeInformers();
  const ownEndpoint = new OwnEndpoint("10.96.0.10", 53);
  const guard = new TrafficGuard(clock);
  const sent: string[] = [];
  const host = hostThatRecords(sent);
  informers.put(Service, serviceAt("kube-dns", "10.96.0.10"));
  const base = { nodeName: "node-1", informers, clock, log: silentLog, host, guard, ownEndpoint };
  const runFor = async (podCidr: string, task: () => Promise<void> = async () => {}) => {
    const stop = new AbortController();
    const ranges = { tableName: "t", podCidr, clusterCidr: "10.244.0.0/16" };
    const running = runProxy({ ...base, ...ranges }, stop.signal);
    await clock.advance(1000);
    await task();
    stop.abort();
    await running;
    return sent.splice(0).join("");
  };
  ownEndpoint.server = { address: "10.0.0.2", port: 5555 };

  assert.match(await runFor("10.244.0.0/24"), /10\.0\.0\.2 ?[.:] ?5555/);
  const rules = await runFor("10.244.1.0/24", async () => {
    informers.put(NetworkPolicy, {
      metadata: { namespace: "one", name: "p" },
      spec: { podSelector: {}, ingress: [{}] },
    });
    const pod = informers.put(Pod, {
      metadata: { namespace: "one", name: "a" },
      spec: { nodeName: "node-1", containers: [{ name: "main", image: "i" }] },
      status: {},
    });
    const restricted = guard.restrict(pod, ["10.244.1.5"]);
    await clock.advance(1000);
    await restricted;
  });

  assert.match(rules, /10\.0\.0\.2 ?[.:] ?5555/);
  assert.match(rules, /10\.244\.1\.5 : jump ingress/);
});
