import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { build } from "#testing/build.ts";
import { requestFor, setUp } from "../admission.suite.ts";

const namespace = "shop";

test("hundreds of claims of hundreds of classes that are charged together let other requests through", async () => {
  const allHere = Promise.withResolvers<void>();
  const set = setUp({
    async storeQuota(quota) {
      await allHere.promise;
      const { resourceVersion: _next, ...metadata } = quota.metadata;
      set.informers.put(ResourceQuota, { ...quota, metadata });
      return true;
    },
  });
  const count = "count/resourceclaims.resource.k8s.io";
  const hard = { "requests.example.com/gpu": "1", [count]: "1000" };
  const used = { "requests.example.com/gpu": "0", [count]: "0" };
  set.informers.put(ResourceQuota, { metadata: { name: "q", namespace }, spec: { hard }, status: { hard, used } });
  const requests = Array.from({ length: 32 }, (_, request) => ({
    name: `r-${request}`,
    firstAvailable: Array.from({ length: 8 }, (_, at) => ({ name: `s-${at}`, deviceClassName: `c-${request}-${at}` })),
  }));
  const claims = Array.from({ length: 400 }, (_, index) =>
    build(ResourceClaim, { metadata: { name: `c-${index}`, namespace }, spec: { devices: { requests } } }),
  );

  let longestMs = 0;
  let isDone = false;
  const watch = async (): Promise<void> => {
    for (let lastMs = performance.now(); !isDone; lastMs = performance.now()) {
      await nextTurn();
      longestMs = Math.max(longestMs, performance.now() - lastMs);
    }
  };
  const watching = watch();
  const creating: Promise<unknown>[] = [];
  for (const claim of claims) {
    creating.push(set.admit(requestFor(ResourceClaim, claim as InputOf<ResourceClaim>)));
    await nextTurn();
  }
  allHere.resolve();
  await Promise.all(creating);
  isDone = true;
  await watching;

  assert.equal(set.informers.of(ResourceQuota).get({ namespace, name: "q" })?.status.used?.[count], "400");
  // Usually some 20 ms.
  assert(longestMs < 100, `${longestMs} ms without a turn`);
});
