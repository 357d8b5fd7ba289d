import assert from "node:assert/strict";
import { test } from "node:test";
import { read } from "#api/faults.suite.ts";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { type Context } from "#server/request/pipeline.ts";
import { parseRequestInfo } from "#server/request/request-info.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { mandatoryLevels, mandatorySchemas, suggestedFlows } from "./bootstrap/bootstrap-flows.ts";
import { FlowControl } from "./flow-control.ts";
import { FlowMetrics } from "./flow-metrics.ts";

/** Every level has one seat or few, and the first requests of components have all of theirs. */
function setUp() {
  const clock = createVirtualClock();
  const estimate = { find: () => undefined, sizeOf: () => ({ objects: 0, bytes: 0 }), watchersOf: () => 0 };
  const loopback = { name: "loopback", groups: [] };
  const metrics = new FlowMetrics(new Metrics());
  const control = new FlowControl({ clock, seats: 1, estimate, loopback, metrics, maxWaitMs: 1000 });
  const { levels, schemas } = suggestedFlows();
  control.configure(
    [...mandatoryLevels, ...levels].map((level) => read(PriorityLevelConfiguration, level)),
    [...mandatorySchemas, ...schemas].map((schema) => read(FlowSchema, schema)),
  );
  const user = { name: "system:kube-scheduler", groups: ["system:authenticated"] };
  const info = parseRequestInfo("POST", "/api/v1/namespaces/a/events", new URLSearchParams());
  const admit = (signal = neverAborted, timeoutMs?: number) =>
    control.admit({ info, user, timeoutMs, request: { peer: { user }, signal } } as unknown as Context);
  return { clock, control, admit };
}

/** When, in virtual time, a request that waits is refused, and with what code. */
async function refusalOf({ clock, admit }: ReturnType<typeof setUp>, timeoutMs?: number) {
  const startedMs = clock.now();
  const refused = Promise.resolve(admit(neverAborted, timeoutMs)).then(
    () => undefined,
    ({ code }: { code: number }) => ({ code, afterMs: clock.now() - startedMs }),
  );
  await clock.advance(10_000);
  return await refused;
}

test("a request without a deadline is refused when it has waited, and one with a deadline after a quarter of it", async () => {
  const world = setUp();
  void world.admit();

  const patient = await refusalOf(world);
  assert.equal(patient?.code, 429);
  assert(patient.afterMs >= 1000 && patient.afterMs <= 2000, `after ${patient.afterMs} ms of virtual time`);
  assert.deepEqual(await refusalOf(world, 1200), { code: 429, afterMs: 300 });
});

test("requests that share a signal leave the queue together when it fires", async () => {
  const { control, admit } = setUp();
  void admit();
  const caller = new AbortController();
  const waiting = Promise.allSettled([1, 2, 3].map(() => admit(caller.signal)));
  const others = admit();
  const waitingNow = () => [...control.levels.values()].reduce((sum, { set }) => sum + set.waiting, 0);
  assert.equal(waitingNow(), 4);

  caller.abort();

  for (const result of await waiting) assert(result.status === "rejected" && result.reason.code === 400);
  assert.equal(waitingNow(), 1);
  assert(others instanceof Promise);
});
