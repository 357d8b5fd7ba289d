import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { Secret } from "#api/core/secret.ts";
import { type Resource } from "#api/resource.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type Informers } from "#runtime/informer.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type TallyChange, UsageTallies } from "./usage-tallies.ts";

const namespace = "shop";
const hourMs = 3_600_000;

function setUp() {
  const fake = createFakeInformers();
  const followed = new Set<string>();
  const note = (resource: Resource, isFollowed: boolean): void => {
    if (isFollowed) followed.add(resource.plural);
    else followed.delete(resource.plural);
  };
  const informers: Informers = {
    ...fake,
    of(resource, scope) {
      const informer = fake.of(resource, scope);
      return {
        ...informer,
        list: (inNamespace) => informer.list(inNamespace),
        synced: () => informer.synced(),
        subscribe(handler) {
          note(resource as unknown as Resource, true);
          const stop = informer.subscribe(handler);
          return () => {
            note(resource as unknown as Resource, false);
            stop();
          };
        },
      };
    },
  };
  const changes: TallyChange[] = [];
  const tallies = new UsageTallies({ informers, clock: createVirtualClock(), resources: () => allResources });
  tallies.onChange((change) => changes.push(change));
  const quota = (name: string, hard: Record<string, string>) =>
    fake.put(ResourceQuota, { metadata: { name, namespace }, spec: { hard }, status: {} });
  const create = (index: number) => fake.put(ConfigMap, { metadata: { name: `m-${index}`, namespace } });
  const remove = (index: number) => fake.delete(ConfigMap, { name: `m-${index}`, namespace });
  return { tallies, followed, changes, quota, create, remove };
}

test("objects that come and go while the others are counted are counted once", async () => {
  const { tallies, quota, create, remove } = setUp();
  for (let index = 0; index < 1200; index++) create(index);
  const counting = tallies.of(quota("q", { configmaps: "9" }), hourMs, neverAborted);
  // Until the informers are synced, and then in the middle of the count.
  await new Promise((resolve) => setImmediate(resolve));
  for (let index = 0; index < 10; index++) remove(index);
  for (let index = 1100; index < 1110; index++) remove(index);
  for (let index = 2000; index < 2005; index++) create(index);
  const { counted } = await counting;
  assert.deepEqual(counted, { configmaps: "1185" });
});

test("only kinds that a quota limits are followed, as long as it exists", async () => {
  const { tallies, followed, quota } = setUp();
  await tallies.of(quota("a", { configmaps: "1" }), hourMs, neverAborted);
  await tallies.of(quota("b", { configmaps: "1", "count/secrets": "1" }), hourMs, neverAborted);
  assert.deepEqual([...followed].sort(), [ConfigMap.plural, Secret.plural]);
  tallies.drop({ namespace, name: "a" });
  assert.deepEqual([...followed].sort(), [ConfigMap.plural, Secret.plural]);
  await tallies.of(quota("b", { "count/secrets": "1" }), hourMs, neverAborted);
  assert.deepEqual([...followed], [Secret.plural]);
  tallies.drop({ namespace, name: "b" });
  assert.deepEqual([...followed], []);
});

test("what was released and not shown yet outlives a new count", async () => {
  const { tallies, quota, create, remove, changes } = setUp();
  create(1);
  create(2);
  await tallies.of(quota("q", { configmaps: "9" }), hourMs, neverAborted);
  remove(1);
  assert.deepEqual(
    changes.map(({ name, isReleased }) => [name, isReleased]),
    [["q", true]],
  );
  const tally = await tallies.of(quota("q", { configmaps: "8" }), hourMs, neverAborted);
  assert.deepEqual(
    [tally.counted, tally.takeReleased(), tally.takeReleased()],
    [{ configmaps: "1" }, { configmaps: "1" }, {}],
  );
});
