import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Host } from "./apply.ts";
import { OwnEndpoint } from "./own-endpoint.ts";
import { TrafficGuard } from "./policy/traffic-guard.ts";
import { runProxy } from "./proxy.ts";

test("a proxy that runs again for another pod range leads to the node's own server, and answers for new pods", async () => {
  const clock = createVirtualClock(0);
  const informers = createFakeInformers();
  const ownEndpoint = new OwnEndpoint("10.96.0.10", 53);
  const guard = new TrafficGuard(clock);
  const sent: string[] = [];
  const host: Host = {
    async run(_command, args, input = "") {
      if (args[0] === "-f") sent.push(input);
      return "";
    },
    readSetting: async () => undefined,
    writeSetting: async () => {},
    eachLine: async () => {},
    addresses: async () => [],
  };
  informers.put(Service, {
    metadata: { namespace: "kube-system", name: "kube-dns" },
    spec: {
      type: "ClusterIP",
      sessionAffinity: "None",
      clusterIP: "10.96.0.10",
      ports: [{ port: 53, protocol: "UDP" }],
    },
    status: { loadBalancer: {} },
  });
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
