import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { build } from "#testing/build.ts";
import { explain } from "./explain.ts";

type Amounts = Record<string, string>;
const quota = (hard: Amounts, used: Amounts) =>
  explain({
    about: "quota",
    quota: build(ResourceQuota, { metadata: { name: "q" }, spec: { hard }, status: { hard, used } }),
  });
type Status = Partial<PodDisruptionBudget["status"]>;
const budget = (status: Status) => {
  const counts = {
    disruptionsAllowed: 0,
    currentHealthy: 2,
    desiredHealthy: 2,
    expectedPods: 3,
    observedGeneration: 1,
  };
  const metadata = { name: "b", generation: 1 };
  return explain({
    about: "budget",
    budget: build(PodDisruptionBudget, { metadata, spec: {}, status: { ...counts, ...status } }),
  });
};

test("explain() says what a quota has left", () => {
  const full = quota({ pods: "2", memory: "1Gi", cpu: "1" }, { pods: "2", memory: "1024Mi", cpu: "900m" });
  assert.deepEqual(
    [full.state, full.headline],
    ["UsedUp", "ResourceQuota q is used up: whatever needs more memory and pods is refused."],
  );
  assert.deepEqual(full.evidence, ["cpu: 900m of 1", "memory: 1Gi of 1Gi", "pods: 2 of 2"]);
  const strange = quota({ "count/a.b": "1", pods: "2" }, { pods: "1" });
  assert.match(strange.headline, /does not limit count\/a\.b: it is not counted/);
  assert.equal(quota({ pods: "2" }, { pods: "1" }).state, "Available");
});

test("explain() says whether a disruption budget lets pods go", () => {
  assert.match(budget({ disruptionsAllowed: 1, currentHealthy: 3 }).headline, /allows 1 eviction now/);
  assert.match(budget({ currentHealthy: 1 }).headline, /: 1 of its pods is healthy, and 2 must stay/);
  assert.match(budget({}).headline, /allows no eviction now: 2 of its pods are healthy, and 2 must stay/);
  assert.match(
    budget({ desiredHealthy: 3, currentHealthy: 3 }).headline,
    /never allows an eviction: it demands all of its 3 pods/,
  );
  assert.match(budget({ expectedPods: 0, desiredHealthy: 0, currentHealthy: 0 }).headline, /it selects no pods/);
  const bare = budget({ expectedPods: 0, desiredHealthy: 0, currentHealthy: 1 });
  assert.match(bare.headline, /none of its pods has a controller/);
  assert.match(bare.advice.join(), /spec\.minAvailable/);
  assert.match(budget({ observedGeneration: 0 }).headline, /has not been counted yet/);
  const conditions = [
    {
      type: "DisruptionAllowed",
      status: "False",
      reason: "SyncFailed",
      message: "why",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  assert.match(budget({ conditions }).headline, /cannot be counted: why/);
});

test("explain() names the quota that refused an object", () => {
  const message =
    'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2';
  const refusal = { atMs: 0, verb: "create", user: "jane", status: 403, hop: "admit", message } as const;
  const facts = {
    nowMs: 1000,
    resource: ConfigMap as never,
    namespace: "shop",
    name: "b",
    refusal,
    removal: undefined,
  };
  const adviceFor = (text: string): string =>
    explain({ about: "absent", ...facts, refusal: { ...refusal, message: text } }).advice.join();
  assert.match(adviceFor(message), /The quota q is used up/);
  const alone =
    "exceeded quota: q, requested: pods=1,requests.cpu=4, used: pods=0,requests.cpu=0, limited: pods=9,requests.cpu=500m";
  assert.match(
    adviceFor(alone),
    /asks for more than the quota q allows in all: 4 requests\.cpu of 500m\. Request less/,
  );
  assert.match(adviceFor("exceeded quota: q, requested: a=b, used: =, limited: a=-1"), /The quota q is used up/);
});
