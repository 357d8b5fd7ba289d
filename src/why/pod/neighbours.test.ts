import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { explain } from "../explain.ts";
import { nowMs, podOf } from "../facts.suite.ts";
import { planRooms } from "../rooms.ts";

const node = build(Node, { metadata: { name: "n1", labels: { "kubernetes.io/hostname": "n1" } } });
const rule = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } };
const together = { requiredDuringSchedulingIgnoredDuringExecution: [rule] };
const spread = (part: object) => ({
  topologySpreadConstraints: [
    { ...rule, maxSkew: 2, whenUnsatisfiable: "DoNotSchedule" as const, ...part },
    { ...rule, topologyKey: "soft", maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway" as const },
  ],
});

function why(spec: InputOf<Pod["spec"]>, plugin: string, reason: string) {
  const rejections = [{ node: "n1", plugin, reasons: [`node(s) didn't ${reason}`] }];
  const attempts = [{ atMs: nowMs, attempt: 1, node: "", evaluated: 1, message: "0/1", rejections }];
  const none = { node: undefined, heartbeatMs: undefined, events: [], missing: [], logs: new Map(), services: [] };
  const pod = podOf(spec, {});
  return explain({ about: "pod", nowMs, pod, ...none, attempts, rooms: planRooms([node], []) });
}

interface Case {
  readonly spec: InputOf<Pod["spec"]>;
  readonly plugin: "InterPodAffinity" | "PodTopologySpread";
  readonly reason: string;
  readonly says: RegExp;
  readonly evidence: RegExp;
  readonly advice: RegExp;
}
const cases: readonly Case[] = [
  {
    spec: { affinity: { podAntiAffinity: together } },
    plugin: "InterPodAffinity",
    reason: "match pod anti-affinity rules",
    says: /the only node, n1, does not fit: it is too near to pods that the pod's anti-affinity avoids/,
    evidence: /\(wants another kubernetes\.io\/hostname as pods app=web\)/,
    advice: /Add a node, run fewer of these pods/,
  },
  {
    spec: { affinity: { podAffinity: together } },
    plugin: "InterPodAffinity",
    reason: "match pod affinity rules",
    says: /it is not near the pods that the pod's affinity demands/,
    evidence: /\(wants the same kubernetes\.io\/hostname as pods app=web\)/,
    advice: /Start a pod that the affinity selects/,
  },
  {
    spec: {},
    plugin: "InterPodAffinity",
    reason: "satisfy existing pods anti-affinity rules",
    says: /it is near pods whose anti-affinity keeps the pod away/,
    evidence: /existing pods anti-affinity rules$/m,
    advice: /Look for the anti-affinity of the pods that run there/,
  },
  {
    spec: spread({ minDomains: 3 }),
    plugin: "PodTopologySpread",
    reason: "match pod topology spread constraints",
    says: /it would make the pod's spread too uneven/,
    evidence:
      /difference of at most 2 between values of kubernetes\.io\/hostname counting pods app=web, and at least 3/,
    advice: /raise maxSkew/,
  },
  {
    spec: spread({ topologyKey: "zone" }),
    plugin: "PodTopologySpread",
    reason: "match pod topology spread constraints (missing required label)",
    says: /it lacks a label by which the pod is spread/,
    evidence: /\(has no label zone\)/,
    advice: /`kubectl label node n1 zone=VALUE`/,
  },
];

for (const { spec, plugin, reason, says, evidence, advice } of cases) {
  test(`explain() knows a node that does not ${reason}`, () => {
    const explanation = why(spec, plugin, reason);
    assert.match(explanation.headline, says);
    assert.match(explanation.evidence.join("\n"), evidence);
    assert.match(explanation.advice.join("\n"), advice);
  });
}
