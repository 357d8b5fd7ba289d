import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { type Fragment } from "../rule-table.ts";
import { NetworkPolicies } from "./network-policies.ts";

const isolating = ["drop"];

/** The policies of the node `here`, and what they were planned to be. */
function start() {
  const informers = createFakeInformers();
  const fragments = new Map<string, Fragment>();
  const reports = new Map<string, string>();
  const policies = new NetworkPolicies({
    informers,
    nodeName: "here",
    family: "ip",
    bridgeIsFiltered: true,
    onChange: () => {},
    report: ({ metadata }, faults) => reports.set(metadata.name, faults.join()),
  });
  policies.start();
  informers.put(Namespace, build(Namespace, { metadata: { name: "default" } }));
  const plan = () =>
    policies.plan(
      (owner, fragment) => (fragment ? fragments.set(owner, fragment) : fragments.delete(owner)),
      async () => {},
    );
  const chainOf = (address: string, direction = "ingress"): readonly string[] | undefined => {
    const chains = [...fragments.values()].flatMap(({ elements, chains }) =>
      elements
        .filter(({ set, key }) => set === direction && key === address)
        .map(({ value }) => chains.get(value.slice("jump ".length))),
    );
    assert(chains.length <= 1, `${address} has ${chains.length} chains`);
    return chains[0];
  };
  let started = 0;
  const putPod = (name: string, ip: string | undefined, labels = {}, nodeName = "here"): Pod =>
    informers.put(Pod, {
      ...build(Pod, { metadata: { name, labels }, spec: { nodeName, containers: [] } }),
      status: ip === undefined ? {} : { podIPs: [{ ip }], startTime: `2026-01-01T00:00:0${++started}Z` },
    });
  const putPolicy = (name: string, spec: object): unknown =>
    informers.put(NetworkPolicy, build(NetworkPolicy, { metadata: { name }, spec: { podSelector: {}, ...spec } }));
  const size = () => fragments.values().reduce((sum, { elements }) => sum + elements.length, 0);
  return { informers, policies, reports, plan, chainOf, putPod, putPolicy, size };
}

/** Each names all pods, in its own way. */
const everybody = (count: number, tag: string) =>
  Array.from({ length: count }, (_, at) => ({
    from: [{ podSelector: { matchExpressions: [{ key: "none", operator: "NotIn", values: [`${tag}-${at}`] }] } }],
  }));

test("policies whose rules have too many entries for their peers isolate the pods", async () => {
  const node = start();
  for (let at = 1; at <= 100; at++) node.putPod(`there-${at}`, `10.1.0.${at}`, {}, "there");
  node.putPod("mine", "10.0.0.1");
  node.putPolicy("wide", { ingress: everybody(300, "a") });
  await node.plan();

  assert.deepEqual(node.chainOf("10.0.0.1"), isolating);
  assert.match(node.reports.get("wide") ?? "", /isolated.*more than 20000 entries/);
  assert(node.size() < 1_000, `${node.size()} elements`);

  node.putPolicy("wide", { ingress: everybody(3, "a") });
  await node.plan();
  assert.equal(node.chainOf("10.0.0.1")?.length, 4);
});

test("rules with the same peers share their entries", async () => {
  const node = start();
  for (let at = 1; at <= 100; at++) node.putPod(`there-${at}`, `10.1.0.${at}`, {}, "there");
  node.putPod("mine", "10.0.0.1");
  const ports = Array.from({ length: 200 }, (_, at) => ({ from: [{ podSelector: {} }], ports: [{ port: at + 1 }] }));
  node.putPolicy("many", { ingress: ports });
  await node.plan();

  assert.equal(node.chainOf("10.0.0.1")?.length, 201);
  assert(node.size() < 200, `${node.size()} elements`);
});

test("pods with many different labels cannot multiply the entries of a namespace without end", async () => {
  const node = start();
  for (let at = 1; at <= 50; at++) node.putPod(`mine-${at}`, `10.0.0.${at}`, { at: `${at}` });
  for (let at = 1; at <= 50; at++) {
    const podSelector = { matchExpressions: [{ key: "at", operator: "NotIn", values: [`${at}`] }] };
    node.putPolicy(`p-${at}`, { podSelector, ingress: everybody(2, `${at}`) });
  }
  await node.plan();

  const chains = Array.from({ length: 50 }, (_, at) => node.chainOf(`10.0.0.${at + 1}`));
  assert(node.size() <= 100_200, `${node.size()} elements`);
  assert(chains.every((rules) => rules?.at(-1) === "drop"));
  assert(chains.some((rules) => rules?.length === 1) && chains.some((rules) => rules?.length === 99));

  for (let at = 2; at <= 50; at++) node.informers.delete(NetworkPolicy, { namespace: "default", name: `p-${at}` });
  await node.plan();
  node.policies.retryCrowded();
  await node.plan();
  assert.equal(node.chainOf("10.0.0.2")?.length, 3);
});

test("a new pod is restricted by its own policies, though another one still claims its address", async () => {
  const node = start();
  const old = node.putPod("old", "10.0.0.1", { app: "open" });
  node.putPolicy("open", { podSelector: { matchLabels: { app: "open" } }, ingress: [{}] });
  node.putPolicy("closed", { podSelector: { matchLabels: { app: "closed" } } });
  await node.plan();

  const young = node.putPod("young", undefined, { app: "closed" });
  assert(node.policies.expect(young, ["10.0.0.1"]));
  await node.plan();
  assert.deepEqual(node.chainOf("10.0.0.1"), isolating);

  node.informers.put(Pod, { ...old, metadata: { ...old.metadata, labels: { app: "open", still: "here" } } });
  node.putPod("young", "10.0.0.1", { app: "closed" });
  await node.plan();
  assert.deepEqual(node.chainOf("10.0.0.1"), isolating);

  node.informers.delete(Pod, { namespace: "default", name: "old" });
  await node.plan();
  assert.deepEqual(node.chainOf("10.0.0.1"), isolating);
});
