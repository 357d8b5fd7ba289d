import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { serviceUnavailable, staleObject } from "#api/status.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Part, Widget } from "#testing/widget.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { currentTrace } from "#trace/trace.ts";
import { startInformers } from "./cached-informer.ts";
import { type Reconciler, type ReconcilerDeps } from "./reconciler.ts";
import { type ReconcilerFactory, runReconcilers } from "./run-reconciler.ts";

const widget = (name: string, size = 1) => ({ metadata: { namespace: "default", name }, spec: { size } });

/** Runs one reconciler of Widgets against a server in this process. */
async function start(
  make: (deps: ReconcilerDeps) => Partial<Reconciler<Widget>> & Pick<Reconciler<Widget>, "reconcile">,
) {
  const clock = createVirtualClock();
  const api = await openFaultyApi(clock);
  const lines: string[] = [];
  const note = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const log: Log = { ...silentLog, warn: note("warn"), error: note("error"), with: () => log };
  const informers = startInformers(api.client, { clock, log, random: () => 0 });
  const recorder = new TraceRecorder({ clock });
  const stop = new AbortController();
  const factory: ReconcilerFactory = (deps) => ({ name: "widget", reconciles: Widget, ...make(deps) });
  const run = runReconcilers([factory], { client: api.client, informers, clock, log, recorder }, stop.signal);
  return {
    api,
    client: api.client,
    clock,
    lines,
    recorder,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await run;
      await informers[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

test("a reconciler is called for existing objects, for every change, and for deleted objects", async () => {
  const seen: string[] = [];
  await using setup = await start(() => ({
    reconcile: async ({ metadata, spec }) => void seen.push(`${metadata.name} ${spec.size}`),
    gone: async ({ namespace, name }) => void seen.push(`${namespace}/${name} gone`),
  }));
  const a = await setup.client.create(Widget, widget("a"));
  await setup.clock.settle();

  await setup.client.update(Widget, { ...a, spec: { size: 2 } });
  await setup.clock.settle();
  await setup.client.delete(Widget, a);
  await setup.clock.settle();

  assert.deepEqual(seen, ["a 1", "a 2", "default/a gone"]);
});

test("a change of an owned object wakes its controller, and the previous one if it changed", async () => {
  const seen: (string | undefined)[] = [];
  await using setup = await start(() => ({
    owns: [Part],
    reconcile: async ({ metadata }) => void seen.push(metadata.name),
  }));
  const a = await setup.client.create(Widget, widget("a"));
  const b = await setup.client.create(Widget, widget("b"));
  const metadata = { namespace: "default", name: "part" };
  await setup.clock.settle();
  seen.length = 0;

  const part = await setup.client.create(Part, { metadata: { ...metadata, ownerReferences: [ownerRefTo(Widget, a)] } });
  await setup.clock.settle();
  const taken = { ...part.metadata, ownerReferences: [ownerRefTo(Widget, b)] };
  await setup.client.update(Part, { ...part, metadata: taken });
  await setup.clock.settle();

  assert.deepEqual(seen, ["a", "b", "a"]);
});

test("a change of a watched object wakes what the watch names", async () => {
  const seen: (string | undefined)[] = [];
  await using setup = await start(() => ({
    watches: [{ resource: Part, wakes: ({ object }) => [{ namespace: "default", name: object.metadata.name ?? "" }] }],
    reconcile: async ({ metadata }) => void seen.push(metadata.name),
  }));
  await setup.client.create(Widget, widget("a"));
  await setup.clock.settle();
  seen.length = 0;

  await setup.client.create(Namespace, { metadata: { name: "elsewhere" } });
  await setup.client.create(Part, { metadata: { namespace: "elsewhere", name: "a" } });
  await setup.clock.settle();

  assert.deepEqual(seen, ["a"]);
});

test("a reconciler never acts on a cache older than its own writes", async () => {
  await using setup = await start(({ client, informers }) => {
    const parts = informers.of(Part);
    return {
      owns: [Part],
      async reconcile(owner) {
        // Wakes itself immediately, before the watch can have shown the new part.
        if (owner.status === undefined) await client.updateStatus(Widget, { ...owner, status: { ready: 0 } });
        const owned = parts.by("controller", owner.metadata.uid);
        if (owned.length >= 3) return;
        const ownerReferences = [ownerRefTo(Widget, owner)];
        await client.create(Part, { metadata: { namespace: "default", generateName: "p-", ownerReferences } });
        return { afterMs: 0 };
      },
    };
  });

  await setup.client.create(Widget, widget("a"));
  await setup.clock.advance(1000);

  assert.equal((await setup.client.list(Part)).items.length, 3);
});

test("a reconciler does not see again what it has deleted", async () => {
  const deleted: (string | undefined)[] = [];
  await using setup = await start(({ client, informers }) => {
    const parts = informers.of(Part);
    return {
      async reconcile() {
        const [first] = parts.list();
        if (!first) return;
        deleted.push(first.metadata.name);
        await client.delete(Part, first);
        return { afterMs: 0 };
      },
    };
  });
  for (const name of ["x", "y", "z"]) await setup.client.create(Part, { metadata: { namespace: "default", name } });
  await setup.clock.settle();

  await setup.client.create(Widget, widget("a"));
  await setup.clock.advance(1000);

  assert.deepEqual(deleted, ["x", "y", "z"]);
  assert.deepEqual(setup.lines, []);
});

test("a write without a response is waited for as if it had succeeded", async () => {
  await using setup = await start(({ client, informers }) => {
    const parts = informers.of(Part);
    return {
      async reconcile() {
        if (parts.list().length > 0) return;
        await client.create(Part, { metadata: { namespace: "default", generateName: "p-" } });
      },
    };
  });
  setup.api.intercept = async (request) => {
    if (request.method !== "POST" || !request.path.endsWith("/parts")) return;
    setup.api.intercept = undefined;
    setup.api.cutWatches();
    await setup.api.handle(request);
    throw serviceUnavailable("the answer was lost");
  };

  await setup.client.create(Widget, widget("a"));
  await setup.clock.advance(10_000);

  assert.equal((await setup.client.list(Part)).items.length, 1);
});

test("informers that lag delay a reconciler but do not stop it", async () => {
  let runs = 0;
  await using setup = await start(({ client, informers }) => {
    informers.of(Part);
    return {
      async reconcile() {
        runs++;
        if (runs > 1) return;
        setup.api.cutWatches();
        setup.api.intercept = ({ query }) => {
          if (query.includes("watch=true")) throw new Error("down");
        };
        await client.create(Part, { metadata: { namespace: "default", name: "unseen" } });
        return { afterMs: 0 };
      },
    };
  });
  await setup.client.create(Widget, widget("a"));

  await setup.clock.advance(5_000);
  const early = runs;
  await setup.clock.advance(30 * 60_000);

  assert.deepEqual([early, runs], [1, 2]);
  assert.ok(setup.lines.includes("warn informers are behind, continuing without them"));
});

test("a failed reconcile is retried and logged; a conflict is retried without a warning", async () => {
  let runs = 0;
  await using setup = await start(() => ({
    async reconcile() {
      runs++;
      if (runs === 1) throw new Error("boom");
      if (runs === 2) throw staleObject(Widget, "a");
    },
  }));

  await setup.client.create(Widget, widget("a"));
  await setup.clock.advance(1000);

  assert.equal(runs, 3);
  assert.deepEqual(setup.lines, ["warn reconcile failed"]);
});

test("Again and resyncMs call without a change", async () => {
  let runs = 0;
  await using setup = await start(() => ({
    resyncMs: 60_000,
    async reconcile() {
      runs++;
      return runs === 1 ? { afterMs: 5_000 } : undefined;
    },
  }));
  await setup.client.create(Widget, widget("a"));

  await setup.clock.advance(4_000);
  const before = runs;
  await setup.clock.advance(2_000);
  const again = runs;
  await setup.clock.advance(60_000);

  assert.deepEqual([before, again, runs], [1, 2, 3]);
});

test("at most `workers` objects are reconciled concurrently, and none twice", async () => {
  let now = 0;
  let most = 0;
  const busy = new Set<string>();
  await using setup = await start(({ clock }) => ({
    workers: 2,
    async reconcile({ metadata }) {
      const name = metadata.name;
      assert(!busy.has(name));
      busy.add(name);
      most = Math.max(most, ++now);
      await clock.sleep(100);
      now--;
      busy.delete(name);
    },
  }));
  for (const name of ["a", "b", "c", "d"]) await setup.client.create(Widget, widget(name));
  await setup.clock.advance(50);
  await setup.client.patch(Widget, { namespace: "default", name: "a" }, { type: "merge", body: { spec: { size: 9 } } });

  await setup.clock.advance(1000);

  assert.equal(most, 2);
  assert.deepEqual(setup.lines, []);
});

test("what a reconciler writes belongs to the trace that woke it", async () => {
  const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16) };
  await using setup = await start(({ client }) => ({
    async reconcile(object) {
      if (!object.status) await client.updateStatus(Widget, { ...object, status: { ready: 1 } });
    },
  }));

  await setup.clock.settle();
  const before = setup.api.revision;
  await currentTrace.run(trace, () => setup.client.create(Widget, widget("a")));
  await setup.clock.settle();

  const [hop, ...others] = setup.recorder.byTrace(trace.traceId);
  assert.equal(others.length, 0);
  assert.equal(hop?.parentId, setup.api.traceOf(before + 1)?.spanId);
  assert.deepEqual([hop?.component, hop?.revision], ["widget", before + 2]);
  assert.equal(setup.api.traceOf(before + 2)?.traceId, trace.traceId);
});

test("a run whose request is refused is recorded as the cause of that request", async () => {
  const trace = { traceId: "c".repeat(32), spanId: "d".repeat(16) };
  let refusals = 1;
  await using setup = await start(({ client }) => ({
    async reconcile(object) {
      if (object.status) return;
      if (refusals-- > 0) throw staleObject(Widget, "a");
      await client.updateStatus(Widget, { ...object, status: { ready: 1 } });
    },
  }));

  await setup.clock.settle();
  await currentTrace.run(trace, () => setup.client.create(Widget, widget("a")));
  await setup.clock.advance(1000);

  const hops = setup.recorder.byTrace(trace.traceId).filter(({ component }) => component === "widget");
  assert.deepEqual(
    hops.map(({ facts }) => facts?.writes),
    [0, 1],
  );
});
