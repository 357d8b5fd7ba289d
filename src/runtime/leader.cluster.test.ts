import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/lease.ts";
import { serviceUnavailable } from "#api/status.ts";
import { aborted } from "#lib/async/tasks.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { runAsLeader } from "./leader.ts";

const lease = { namespace: "kube-system", name: "controllers" };

async function setup() {
  const clock = createVirtualClock();
  const api = await openFaultyApi(clock);
  const leaders = new Set<string>();
  const history: string[] = [];
  const stand = (identity: string) => {
    const stop = new AbortController();
    const deps = { client: api.client, clock, log: silentLog, random: seededRandom(identity.length), lease, identity };
    const lead = async (signal: AbortSignal) => {
      assert.equal(leaders.size, 0, "two leaders at the same time");
      leaders.add(identity);
      history.push(identity);
      await aborted(signal);
      leaders.delete(identity);
    };
    const run = runAsLeader(lead, deps, stop.signal);
    return async () => {
      stop.abort();
      await run;
    };
  };
  return { api, clock, leaders, history, stand };
}

test("one of several candidates leads, and the next takes over immediately when it leaves", async () => {
  const { api, clock, leaders, history, stand } = await setup();
  await using _ = api;
  const leave = { a: stand("a"), bb: stand("bb") };
  await clock.advance(60_000);
  assert.deepEqual(history, ["a"]);

  await leave.a();
  await clock.advance(5_000);

  assert.deepEqual([...leaders], ["bb"]);
  const { spec } = await api.client.get(Lease, lease);
  assert.equal(spec.holderIdentity, "bb");
  assert.equal(spec.leaseDurationSeconds, 15);
  assert.equal(spec.leaseTransitions, 1);
  await leave.bb();
  assert.equal((await api.client.get(Lease, lease)).spec.holderIdentity, "");
});

test("a leader that cannot renew steps down before another may lead, and becomes a candidate again", async () => {
  const { api, clock, leaders, history, stand } = await setup();
  await using _ = api;
  const leaveA = stand("a");
  await clock.advance(1_000);
  const leaveB = stand("bb");
  await clock.advance(1_000);

  api.intercept = ({ object }) => {
    const { spec } = (object ?? {}) as { spec?: { holderIdentity?: string } };
    if (spec?.holderIdentity === "a") throw serviceUnavailable("cut off");
  };
  await clock.advance(13_000);
  assert.deepEqual([...leaders], []);
  await clock.advance(30_000);
  assert.deepEqual([...leaders], ["bb"]);
  api.intercept = undefined;
  await leaveB();
  await clock.advance(10_000);

  assert.deepEqual(history, ["a", "bb", "a"]);
  await leaveA();
});

test("runAsLeader() returns when its task is done and passes on its failure", async () => {
  const { api, clock } = await setup();
  await using _ = api;
  const deps = { client: api.client, clock, log: silentLog, lease, identity: "a" };
  const signal = new AbortController().signal;

  await runAsLeader(async () => {}, deps, signal);
  const failing = runAsLeader(() => Promise.reject(new Error("boom")), deps, signal);

  await assert.rejects(failing, /boom/);
  assert.equal((await api.client.get(Lease, lease)).spec.holderIdentity, "");
});
