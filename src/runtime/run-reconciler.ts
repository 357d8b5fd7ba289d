import { controllerOf } from "#api/meta/owner.ts";
import { type ApiObject, groupOf, groupResource, type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { isAbort, runTogether } from "#lib/async/tasks.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { currentTrace, parseTraceparent } from "#trace/trace.ts";
import { type Change } from "./informer.ts";
import { objectKey } from "./object-cache.ts";
import { OwnWrites, type TrackedDeps, trackWrites } from "./own-writes.ts";
import { type Reconciler, type ReconcilerDeps } from "./reconciler.ts";
import { type Later, workOff } from "./work-off.ts";
import { type Work, WorkQueue } from "./work-queue.ts";

export type ReconcilerFactory = (deps: ReconcilerDeps) => Reconciler;

export interface RunDeps extends Omit<ReconcilerDeps, "events"> {
  /** May list every kind that the reconcilers write; default: the client. */
  readonly reader?: Client;
  /** The source of the reconcilers' events; default: orlop. */
  readonly component?: string;
  /** Records runs that wrote something, or were refused, as hops. */
  readonly recorder?: TraceRecorder;
  /** Called with every queue, so that a test can wait until there is no work left. */
  onQueue?(name: string, queue: WorkQueue<Cause>): void;
}

/** Runs reconcilers, each with a client and informers that guarantee that it reads its own writes. */
export async function runReconcilers(
  factories: readonly ReconcilerFactory[],
  deps: RunDeps,
  signal: AbortSignal,
): Promise<void> {
  const tasks = factories.map((factory) => {
    const tracked = trackWrites(deps);
    const { client, informers } = tracked;
    const events = createEventRecorder(client, { ...deps, component: deps.component ?? "orlop" });
    const reconciler = factory({ ...deps, client, informers, events });
    return async (stop: AbortSignal) => {
      await using _closed = events;
      await runReconciler(reconciler, { ...deps, tracked }, stop);
    };
  });
  await runTogether(signal, tasks);
}

/** Which trace woke a key, and when. */
export interface Cause {
  readonly trace: string;
  readonly atMs: number;
}

const defaultWorkers = 5;

/**
 * Wakes the reconciler for changes until the signal fires. Without `tracked` it may read a state from before its
 * writes.
 */
async function runReconciler<T extends ApiObject>(
  reconciler: Reconciler<T>,
  deps: RunDeps & { readonly tracked?: TrackedDeps },
  signal: AbortSignal,
): Promise<void> {
  const queue = new WorkQueue<Cause>({ clock: deps.clock });
  deps.onQueue?.(reconciler.name, queue);
  const close = () => queue.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  const unsubscribe = subscribe(reconciler, deps, queue);
  try {
    await (deps.tracked?.informers ?? deps.informers).synced(signal);
    const runner = new Runner(reconciler, deps, queue);
    const workers = Array.from({ length: reconciler.workers ?? defaultWorkers }, () => () => runner.work(signal));
    await runTogether(signal, [...workers, (stop) => resync(reconciler, deps, { queue, signal: stop })]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    for (const stop of unsubscribe) stop();
    signal.removeEventListener("abort", close);
    close();
  }
}

/** Maps changes to the keys they wake. */
function subscribe<T extends ApiObject>(
  reconciler: Reconciler<T>,
  deps: RunDeps & { readonly tracked?: TrackedDeps },
  queue: WorkQueue<Cause>,
): (() => void)[] {
  const { reconciles, scope, owns = [], watches = [] } = reconciler;
  const informers = deps.tracked?.informers ?? deps.informers;
  const wake = (key: string, trace: string | undefined): void =>
    queue.add(key, trace ? { trace, atMs: deps.clock.now() } : undefined);
  const own = informers.of(reconciles, scope).subscribe(({ object, trace }) => {
    if (reconciler.concerns?.(object) === false) return;
    wake(objectKey(object.metadata.namespace, object.metadata.name), trace);
  });
  const owned = owns.map((resource) =>
    informers.of(resource).subscribe((change) => {
      for (const key of ownersOf(change, reconciles)) wake(key, change.trace);
    }),
  );
  const others = watches.map((watch) =>
    informers.of(watch.resource).subscribe((change) => {
      for (const { namespace, name } of watch.wakes(change)) wake(objectKey(namespace, name), change.trace);
    }),
  );
  const followed = reconciler.follow?.(({ namespace, name }, trace) => wake(objectKey(namespace, name), trace));
  return [own, ...owned, ...others, ...(followed ? [followed] : [])];
}

/** The current and the previous controller of the object: a change of controller concerns both. */
function ownersOf(change: Change<ApiObject>, owner: Resource): readonly string[] {
  const now = ownerOf(change.object, owner);
  const before = change.type === "put" && change.previous ? ownerOf(change.previous, owner) : undefined;
  if (now === undefined && before === undefined) return nobody;
  return [now, before === now ? undefined : before].filter((key) => key !== undefined);
}
const nobody: readonly string[] = Object.freeze([]);

function ownerOf(state: ApiObject, owner: Resource): string | undefined {
  const reference = controllerOf(state);
  if (!reference || reference.kind !== owner.kind || groupOf(reference.apiVersion) !== owner.group) return undefined;
  const namespace = owner.scope === "Namespaced" ? state.metadata.namespace : undefined;
  return objectKey(namespace, reference.name);
}

async function resync<T extends ApiObject>(
  reconciler: Reconciler<T>,
  { informers, clock }: RunDeps,
  { queue, signal }: { readonly queue: WorkQueue<Cause>; readonly signal: AbortSignal },
): Promise<void> {
  const { reconciles, scope, resyncMs } = reconciler;
  if (!resyncMs) return;
  while (!signal.aborted) {
    await clock.sleep(resyncMs, signal);
    for (const object of informers.of(reconciles, scope).list()) {
      if (reconciler.concerns?.(object) === false) continue;
      const { metadata } = object;
      queue.add(objectKey(metadata.namespace, metadata.name));
    }
  }
}

/**
 * How long to wait for the informers before continuing with their state. Longer than a watch is ever behind, because
 * continuing repeats work: there are too many pods for a while. Not for ever, because they may never show what was written.
 */
const staleTimeoutMs = 30 * 60_000;

const causeLifeMs = 10 * 60_000;

/** Takes keys off the queue, runs the reconciler and handles the outcome. */
class Runner<T extends ApiObject> {
  readonly #reconciler: Reconciler<T>;
  readonly #deps: RunDeps & { readonly tracked?: TrackedDeps };
  readonly #queue: WorkQueue<Cause>;
  /** The writes of the last run of a key that the informers may not show yet. */
  readonly #unseen = new Map<string, OwnWrites>();

  constructor(reconciler: Reconciler<T>, deps: RunDeps & { readonly tracked?: TrackedDeps }, queue: WorkQueue<Cause>) {
    this.#reconciler = reconciler;
    this.#deps = deps;
    this.#queue = queue;
  }

  async work(signal: AbortSignal): Promise<void> {
    const { name } = this.#reconciler;
    await workOff(this.#queue, { name, log: this.#deps.log, run: (work) => this.#run(work, signal) }, signal);
  }

  async #run(work: Work<Cause>, signal: AbortSignal): Promise<Later<Cause> | undefined> {
    await this.#readOwnWrites(work.key, signal);
    const afterMs = await this.#traced(work, signal);
    return afterMs === undefined ? undefined : { afterMs, cause: this.#stillCause(work) };
  }

  /** The change that woke a key is no longer the cause of what the key does much later. */
  #stillCause({ cause }: Work<Cause>): Cause | undefined {
    return cause && this.#deps.clock.now() - cause.atMs < causeLifeMs ? cause : undefined;
  }

  /** Waits until the informers show what this key's last run wrote. */
  async #readOwnWrites(key: string, signal: AbortSignal): Promise<void> {
    const writes = this.#unseen.get(key);
    if (!writes) return;
    const deadline = { clock: this.#deps.clock, signal };
    const seen = await withDeadline(staleTimeoutMs, deadline, (stop) => writes.areSeen(stop));
    this.#unseen.delete(key);
    if (seen !== outOfTime) return;
    const facts = { reconciler: this.#reconciler.name, object: key, revision: writes.revision };
    this.#deps.log.warn("informers are behind, continuing without them", facts);
  }

  /** Runs in the trace of the change that woke the key; a run that wrote something is recorded as a hop. */
  async #traced(work: Work<Cause>, signal: AbortSignal): Promise<number | undefined> {
    const cause = parseTraceparent(work.cause?.trace);
    const span = this.#deps.recorder?.startSpan({
      hop: "control",
      component: this.#reconciler.name,
      object: { ...refOfKey(work.key), resource: nameOf(this.#reconciler.reconciles) },
      parent: cause,
    });
    const writes = new OwnWrites();
    const run = () => this.#reconcile(work.key, signal);
    const tracked = () => (this.#deps.tracked ? this.#deps.tracked.track(writes, run) : run());
    const trace = span?.trace ?? cause;
    let wasRefused = false;
    try {
      return await (trace ? currentTrace.run(trace, tracked) : tracked());
    } catch (error) {
      wasRefused = error instanceof StatusError;
      throw error;
    } finally {
      if (!writes.isEmpty) this.#unseen.set(work.key, writes);
      // A refused request is a hop too, so its cause must be recorded.
      if (writes.count > 0 || wasRefused) span?.end({ revision: writes.revision, facts: { writes: writes.count } });
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<number | undefined> {
    const ref = refOfKey(key);
    const { reconciles, scope } = this.#reconciler;
    const object = this.#deps.informers.of(reconciles, scope).get(ref);
    if (object) return (await this.#reconciler.reconcile(object, signal))?.afterMs;
    await this.#reconciler.gone?.(ref, signal);
    return undefined;
  }
}

const nameOf = (resource: Resource): string => groupResource(resource, resource.plural);

function refOfKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
