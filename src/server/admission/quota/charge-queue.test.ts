import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { type MeasuredWrite } from "#api/quota/evaluator.ts";
import { evaluatorOf } from "#api/quota/evaluators.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { ChargeQueue } from "./charge-queue.ts";
import { chargedWrite } from "./plan-charge.ts";

const namespace = "shop";
const object = build(ConfigMap, { metadata: { name: "m", namespace } });
const created: MeasuredWrite = { operation: "CREATE", subresource: "", object, old: undefined };
const context = { nowMs: 0, objects: createFakeInformers() };
const write = chargedWrite(created, evaluatorOf(ConfigMap), context);
const refuse = (why: string) => new Error(why);

/** Quotas by name, each with its limit and what is used; `before` is called before each write of a quota. */
function queueFor(
  limits: Record<string, [used: number, hard: number]>,
  before: (quota: ResourceQuota) => void = () => {},
) {
  const informers = createFakeInformers();
  const put = (name: string, used: number, hard: number): void => {
    const status = { hard: { configmaps: String(hard) }, used: { configmaps: String(used) } };
    informers.put(ResourceQuota, { metadata: { name, namespace }, spec: { hard: status.hard }, status });
  };
  for (const [name, [used, hard]] of Object.entries(limits)) put(name, used, hard);
  const quotas = informers.of(ResourceQuota);
  const stored: string[] = [];
  const queue = new ChargeQueue({
    quotas,
    async store(quota) {
      before(quota);
      await Promise.resolve();
      const { resourceVersion, ...metadata } = quota.metadata;
      const current = quotas.get(metadata);
      if (current && current.metadata.resourceVersion !== resourceVersion) return false;
      informers.put(ResourceQuota, { ...quota, metadata });
      stored.push(`${metadata.name}=${quota.status.used?.configmaps}`);
      return true;
    },
  });
  const charge = () => queue.charge(namespace, write, refuse as never);
  const usedOf = (name: string) => Number(quotas.get({ namespace, name })?.status.used?.configmaps);
  return { queue, informers, stored, put, charge, usedOf };
}

const idle = async (queue: ChargeQueue): Promise<void> => {
  while (queue.isBusy(namespace)) await new Promise((resolve) => setImmediate(resolve));
};

test("what arrives together is charged by one write for each quota", async () => {
  const { charge, stored, queue } = queueFor({ a: [0, 100], b: [5, 50] });
  const outcomes = await Promise.allSettled(Array.from({ length: 200 }, charge));
  await idle(queue);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 45);
  assert.deepEqual(stored, ["a=45", "b=50"]);
});

test("a quota that somebody else changed meanwhile is charged again, and others only once", async () => {
  let changes = 0;
  const set = queueFor({ a: [0, 9], b: [0, 9] }, ({ metadata }) => {
    if (metadata.name === "b" && changes++ < 3) set.put("b", changes, 9);
  });
  await Promise.all([set.charge(), set.charge()]);
  assert.deepEqual([set.usedOf("a"), set.usedOf("b")], [2, 5]);
});

test("what a quota took is given back if another one turns out to be full", async () => {
  const set = queueFor({ a: [0, 9], b: [0, 9] }, ({ metadata }) => {
    if (metadata.name === "b" && set.usedOf("b") < 9) set.put("b", 9, 9);
  });
  await assert.rejects(set.charge(), /exceeded quota: b/);
  await idle(set.queue);
  assert.deepEqual([set.usedOf("a"), set.usedOf("b")], [0, 9]);
});

test("a write that did not happen is given back, but not to another quota of the same name", async () => {
  const set = queueFor({ a: [3, 9], b: [3, 9] });
  const charges = await set.charge();
  const { metadata, ...rest } = set.informers.of(ResourceQuota).get({ namespace, name: "b" }) as ResourceQuota;
  set.informers.put(ResourceQuota, { ...rest, metadata: { namespace, name: "b", uid: "new" } });
  assert.equal(metadata.name, "b");
  set.queue.giveBack(namespace, charges);
  await idle(set.queue);
  assert.deepEqual([set.usedOf("a"), set.usedOf("b")], [3, 4]);
});

test("a quota that never holds still ends in a conflict, and one that fails in its error", async () => {
  let count = 0;
  const restless = queueFor({ a: [0, 99] }, () => restless.put("a", ++count, 99));
  await assert.rejects(restless.charge(), { reason: "Conflict" });
  const broken = queueFor({ a: [0, 99] }, () => {
    throw new Error("disk full");
  });
  await assert.rejects(Promise.all([broken.charge(), broken.charge()]), /disk full/);
  await idle(broken.queue);
});

test("many requests for many quotas are compared in turns", async () => {
  const set = queueFor(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`q${index}`, [0, 1e6]])));
  let turns = 0;
  const count = (): void => {
    turns++;
    if (set.queue.isBusy(namespace)) setImmediate(count);
  };
  const charges = Array.from({ length: 100 }, () => set.charge());
  count();
  await Promise.all(charges);
  assert(turns >= 9, `${turns} turns`);
  assert.equal(set.usedOf("q99"), 100);
});

test("what a quota took is given back if another one cannot be written", async () => {
  const away = new Error("etcd does not answer");
  const set = queueFor({ a: [0, 9], b: [0, 9] }, ({ metadata }) => {
    if (metadata.name === "b") throw away;
  });
  await assert.rejects(set.charge(), away);
  await idle(set.queue);
  assert.deepEqual([set.usedOf("a"), set.usedOf("b")], [0, 0]);
});
