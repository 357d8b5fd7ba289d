import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type LabelSelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type PolicyPlan } from "./parse-policy.ts";
import { type ModelPod, PolicyModel } from "./policy-model.ts";
import { type PolicyGroup } from "./render-policy.ts";

const namespaces = ["one", "two"];
const labels = fc.record({ app: fc.constantFrom("a", "b"), tier: fc.constantFrom("x", "y") }, { requiredKeys: [] });
const selector: fc.Arbitrary<LabelSelector> = fc.oneof(
  fc.constant({}),
  labels.map((matchLabels) => ({ matchLabels })),
);
const peer = fc.record({ namespaces: fc.oneof(fc.constantFrom(...namespaces), selector), pods: selector });

type Change =
  | { put: "namespace"; name: string; labels: Record<string, string> | undefined }
  | { put: "pod"; key: string; pod: ModelPod | undefined }
  | { put: "policy"; key: string; plan: PolicyPlan | undefined };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    put: fc.constant("namespace" as const),
    name: fc.constantFrom(...namespaces),
    labels: fc.option(labels, { nil: undefined }),
  }),
  fc
    .record({
      put: fc.constant("pod" as const),
      key: fc.constantFrom("p0", "p1", "p2", "p3"),
      pod: fc.option(fc.record({ namespace: fc.constantFrom(...namespaces), labels, isLocal: fc.boolean() }), {
        nil: undefined,
      }),
    })
    .map(({ pod, ...rest }) => ({ ...rest, pod: pod && { ...pod, address: rest.key, ports: [] } })),
  fc
    .record({
      put: fc.constant("policy" as const),
      key: fc.constantFrom("n0", "n1", "n2"),
      plan: fc.option(fc.record({ selector, peers: fc.array(peer, { maxLength: 2 }) }), {
        nil: undefined,
      }),
    })
    .map(({ plan, ...rest }) => ({
      ...rest,
      plan: plan && planOf({ namespace: rest.key === "n2" ? "two" : "one", ...plan }),
    })),
);

const planOf = ({ peers, ...rest }: Pick<PolicyPlan, "namespace" | "selector"> & { peers: PeerList }): PolicyPlan => ({
  ...rest,
  rules: { ingress: peers.map((one) => ({ peers: { pods: [one], blocks: [] }, ports: undefined })) },
  faults: [],
});
type PeerList = readonly { namespaces: LabelSelector | string; pods: LabelSelector }[];

/** For each local pod, the pods that may reach it; no entry if no policy selects it. */
type Reach = Record<string, string[][]>;

function reachOf(groups: Iterable<PolicyGroup>): Reach {
  const reach: Reach = {};
  for (const { pods, policies, membersOf } of groups) {
    const rules = policies.flatMap((policy) => policy.rules.ingress ?? []);
    const from = rules.map((rule) => [...membersOf(rule)].map(({ address }) => address).sort());
    for (const { address } of pods) reach[address] = from.map((names) => names).sort();
  }
  return reach;
}

/** The same by looking at everything. */
class Reference {
  readonly namespaces = new Map<string, Record<string, string>>();
  readonly pods = new Map<string, ModelPod>();
  readonly policies = new Map<string, PolicyPlan>();

  reach(): Reach {
    const reach: Reach = {};
    for (const pod of this.pods.values()) {
      const own = [...this.policies.values()].filter((policy) => isSelected(policy, pod));
      if (!pod.isLocal || own.length === 0) continue;
      const rules = own.flatMap((policy) => policy.rules.ingress ?? []);
      reach[pod.address] = rules.map(({ peers }) => this.#from(peers?.pods ?? [])).sort();
    }
    return reach;
  }

  #from(peers: PeerList): string[] {
    const all = [...this.pods.values()];
    return all
      .filter((pod) => peers.some((one) => this.#isPeer(one, pod)))
      .map(({ address }) => address)
      .sort();
  }

  #isPeer({ namespaces: where, pods }: PeerList[number], { namespace, labels: own }: ModelPod): boolean {
    if (!matches(pods, own)) return false;
    if (typeof where === "string") return where === namespace;
    const found = this.namespaces.get(namespace);
    return found !== undefined && matches(where, found);
  }
}

const isSelected = (policy: PolicyPlan, pod: ModelPod): boolean =>
  policy.namespace === pod.namespace && matches(policy.selector, pod.labels);

const setOrDelete = <T>(map: Map<string, T>, key: string, value: T | undefined): void => {
  if (value) map.set(key, value);
  else map.delete(key);
};

function apply(model: PolicyModel, reference: Reference, next: Change): void {
  if (next.put === "namespace") {
    model.putNamespace(next.name, next.labels);
    setOrDelete(reference.namespaces, next.name, next.labels);
  } else if (next.put === "pod") {
    model.putPod(next.key, next.pod);
    setOrDelete(reference.pods, next.key, next.pod);
  } else {
    model.putPolicy(next.key, next.plan);
    setOrDelete(reference.policies, next.key, next.plan);
  }
}

test("after any changes, the groups are what a look at everything finds", () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), (batches) => {
      const model = new PolicyModel();
      const reference = new Reference();
      const known = new Map<string, PolicyGroup>();
      for (const batch of batches) {
        for (const next of batch) apply(model, reference, next);
        while (model.resolveNext());
        for (const [id, group] of model.takeChanges()) setOrDelete(known, id, group);
        assert.deepEqual(reachOf(known.values()), reference.reach());
        assert(!model.hasChanges);
      }
    }),
    { numRuns: 300 },
  );
});

test("a pod that nobody selects and no rule is about changes no group", () => {
  const model = new PolicyModel();
  model.putNamespace("one", {});
  const pod = { namespace: "one", isLocal: true, ports: [] };
  const peers = [{ namespaces: "one", pods: { matchLabels: { app: "b" } } }];
  model.putPolicy("one/p", planOf({ namespace: "one", selector: { matchLabels: { app: "a" } }, peers }));
  model.putPod("one/a", { ...pod, labels: { app: "a" }, address: "10.0.0.1" });
  while (model.resolveNext());
  assert.equal([...model.takeChanges()].length, 1);

  model.putPod("one/c", { ...pod, labels: { app: "c" }, address: "10.0.0.3" });
  assert.equal([...model.takeChanges()].length, 0);
  const peer = { ...pod, labels: { app: "b" }, address: "10.0.0.2" };
  model.putPod("one/b", peer);
  assert.equal([...model.takeChanges()].length, 1);
  model.putPod("one/b", structuredClone(peer));
  assert(!model.hasChanges, "nothing about the pod has changed");
});
