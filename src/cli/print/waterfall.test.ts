import assert from "node:assert/strict";
import { test } from "node:test";
import { type TraceAnswer } from "#trace/answers.ts";
import { type Facts, type Hop, type HopName, type HopObject } from "#trace/hop.ts";
import { renderBar, renderWaterfall } from "./waterfall.ts";

const web = { resource: "deployments.apps", namespace: "default", name: "web" };
const podNamed = (name: string): HopObject => ({ resource: "pods", namespace: "default", name });

interface Step {
  id: string;
  from: string;
  hop: HopName;
  who: string;
  at: number;
  took: number;
  object?: HopObject;
  facts?: Facts;
}
const hopOf = ({ id, from, hop, who, at, took, object = web, facts }: Step): Hop => ({
  traceId: "t".repeat(32),
  spanId: id.padEnd(16, "0"),
  parentId: from ? from.padEnd(16, "0") : "",
  hop,
  component: who,
  object,
  revision: 0,
  startMs: at,
  durationMs: took,
  facts,
});
const request = (verb: string, subresource = ""): Facts => ({
  verb,
  subresource,
  user: "ann",
  client: "",
  status: 201,
});

function podHops(name: string, at: number): Hop[] {
  const object = podNamed(name);
  const run = { hop: "run", who: "kubelet n1", object } as const;
  return [
    { id: name, from: "3", hop: "client", who: "apiserver", at, took: 4, object, facts: request("create") },
    {
      id: `${name}5`,
      from: name,
      hop: "schedule",
      who: "scheduler",
      at: at + 4,
      took: 3,
      object,
      facts: { node: "n1" },
    },
    {
      id: `${name}6`,
      from: `${name}5`,
      hop: "client",
      who: "apiserver",
      at: at + 5,
      took: 2,
      object,
      facts: request("create", "binding"),
    },
    { id: `${name}7`, from: `${name}6`, ...run, at: at + 8, took: 40, facts: { step: "sandbox" } },
    {
      id: `${name}8`,
      from: `${name}6`,
      hop: "client",
      who: "apiserver",
      at: at + 48,
      took: 1,
      object,
      facts: request("update", "status"),
    },
    { id: `${name}9`, from: `${name}8`, ...run, at: at + 50, took: 20, facts: { step: "start", container: "c" } },
    { id: `${name}a`, from: `${name}8`, ...run, at: at + 70, took: 0, facts: { step: "ready" } },
    { id: `${name}b`, from: `${name}8`, ...run, at: at + 900, took: 9, facts: { step: "start", container: "c" } },
  ].map((step) => hopOf(step as Step));
}

const answer: TraceAnswer = {
  object: web,
  traceId: "t".repeat(32),
  traces: [
    {
      traceId: "t".repeat(32),
      startMs: 0,
      verb: "create",
      subresource: "",
      user: "ann",
      client: "",
      status: 201,
      isRoot: true,
    },
  ],
  hops: [
    hopOf({
      id: "1",
      from: "",
      hop: "client",
      who: "apiserver",
      at: 0,
      took: 10,
      facts: { ...request("create"), client: "kubectl/v1" },
    }),
    ...(["authenticate", "authorize", "schema", "mutate", "schema", "admit", "persist", "broadcast"] as const).map(
      (hop, at) => ({
        ...hopOf({ id: "1", from: "1", hop, who: "apiserver", at, took: 1 }),
        spanId: `1${"0".repeat(14)}${at + 1}`,
      }),
    ),
    hopOf({ id: "2", from: "1", hop: "control", who: "deployment", at: 9, took: 4 }),
    hopOf({
      id: "2c",
      from: "2",
      hop: "client",
      who: "apiserver",
      at: 10,
      took: 2,
      object: { ...web, resource: "replicasets.apps" },
      facts: request("create"),
    }),
    hopOf({
      id: "3",
      from: "2c",
      hop: "control",
      who: "replicaset",
      at: 12,
      took: 9,
      object: { ...web, resource: "replicasets.apps" },
    }),
    hopOf({ id: "4", from: "3", hop: "client", who: "apiserver", at: 20, took: 2, facts: request("update", "status") }),
    ...podHops("a", 14),
    ...podHops("b", 15),
  ],
};

test("renderWaterfall() shows pods that are alike once", () => {
  const text = renderWaterfall(answer, { width: 100, all: false });

  assert.equal(
    text,
    `\
deployments.apps/web in default: all 2 pods are ready after 85.0 ms
create deployments.apps/web by ann with kubectl at 1970-01-01 00:00:00.000 UTC, 29 hops, trace ${"t".repeat(32)}

hop    start     took                    who         what
  1      0.0     10.0  ██··············  apiserver   create deployments.apps web
  2      0.0      1.0  ▏···············  apiserver     authenticate the user
  3      1.0      1.0  ▏···············  apiserver     authorise the request
  5      2.0      1.0  ▏···············  apiserver     decode the object and set defaults
  4      3.0      1.0  ▏···············  apiserver     run mutating admission
  5      4.0      1.0  ▏···············  apiserver     validate the object
  6      5.0      1.0  ▏···············  apiserver     run validating admission
  7      6.0      1.0  ·▏··············  apiserver     commit to the store
  8      7.0      1.0  ·▏··············  apiserver     send the event to watchers
  9      9.0      4.0  ·█··············  deployment    reconcile web
        10.0      2.0  ·▏··············  apiserver       create replicasets.apps web
  9     12.0      9.0  ··██············  replicaset        reconcile web
        15.0      4.0  ··█·············  apiserver           create pods b
 10     19.0      3.0  ···█············  scheduler             place b on n1
        20.0      2.0  ···▏············  apiserver               create pods/binding b
 11     23.0     40.0  ····████████····  kubelet n1                sandbox and network
 11     65.0     20.0  ············████  kubelet n1                start container c
 11     85.0      0.0  ···············▏  kubelet n1                pod is ready
        14.0     70.0  ··█████████████·                      … and 1 more pod the same way, the slo…

hidden: status updates, and the steps of nested requests (--all shows everything)`,
  );
});

test("renderWaterfall() shows every hop if asked, and for a pod only the hops that led to it", () => {
  const all = renderWaterfall(answer, { width: 200, all: true });
  const traces = answer.traces.map((trace) => ({ ...trace, isRoot: false }));
  const one = renderWaterfall({ ...answer, object: podNamed("a"), traces }, { width: 200, all: false });

  assert.equal(all.split("\n").length, 29 + 5);
  assert.match(all, /update deployments.apps\/status web/);
  assert.match(one, /pods\/a in default: its pod is ready after 84.0 ms/);
  assert.match(one, /reconcile web/);
  assert.doesNotMatch(one, /create pods b/);
});

test("renderWaterfall() shows errors and omits a write that came too late", () => {
  const run = { hop: "run", who: "kubelet n1", object: podNamed("a") } as const;
  const late = { ...request("update"), status: 409, refusedAt: "persist" };
  const hops = [
    ...answer.hops,
    hopOf({
      id: "f",
      from: "a6",
      ...run,
      at: 23,
      took: 5,
      facts: { step: "image", container: "c", error: "no such host\u001b[2J" },
    }),
    hopOf({ id: "e", from: "a6", ...run, at: 30, took: 5, facts: { step: "image", container: "c" } }),
    hopOf({ id: "9", from: "forgotten", hop: "client", who: "apiserver", at: 40, took: 1, facts: late }),
  ];

  const text = renderWaterfall({ ...answer, hops }, { width: 200, all: false });

  assert.match(text, /image for c: no such host\?\[2J\n.*image for c\n/);
  assert.doesNotMatch(text, /409/);
  assert.match(renderWaterfall({ ...answer, hops }, { width: 200, all: true }), /409/);
});

test("renderWaterfall() does not take pods on nodes without hops for pods that are not ready", () => {
  const object = podNamed("a");
  const hops = answer.hops
    .filter(({ hop, object: of }) => hop !== "run" || of?.name !== "a")
    .concat(
      hopOf({
        id: "s",
        from: "a5",
        hop: "client",
        who: "apiserver",
        at: 30,
        took: 1,
        object,
        facts: request("update", "status"),
      }),
    );

  const [headline = ""] = renderWaterfall({ ...answer, hops }, { width: 100, all: false }).split("\n");
  assert.match(headline, /1 of 2 pods ready, 2 placed, 1 on joined nodes, whose hops are not recorded, last activity/);
});

test("renderWaterfall() says so when only status updates are kept", () => {
  const traces = answer.traces.map((trace) => ({ ...trace, subresource: "status" }));

  const text = renderWaterfall({ ...answer, traces }, { width: 200, all: false });

  assert.match(text, /requests that changed it are no longer kept/);
  assert.doesNotMatch(renderWaterfall(answer, { width: 200, all: false }), /no longer kept/);
});

test("renderBar() stays within its width", () => {
  assert.equal(renderBar({ from: 0, to: 10, totalMs: 10, width: 5 }), "█████");
  assert.equal(renderBar({ from: 10, to: 10, totalMs: 10, width: 5 }), "····▏");
  assert.equal(renderBar({ from: 5, to: 9, totalMs: 10, width: 5 }), "··██·");
});
