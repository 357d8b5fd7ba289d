import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informer } from "#runtime/informer.ts";
import { type ContainersOf, type NodeReport, readResourceMetrics } from "./resource-metrics.ts";
import { type MeasuredUsage, NodeHistory, type PodUsage, podUsageOf, resolutionMs, usageOf } from "./usage-history.ts";

/** The body of a node's `/metrics/resource`, or what it says if the node is in this process. */
export type ReadNodeMetrics = (
  node: string,
  signal: AbortSignal,
) => Promise<AsyncIterable<Uint8Array | string> | NodeReport>;

export interface ScraperDeps {
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly clock: Clock;
  readonly log: Log;
  readonly read: ReadNodeMetrics;
}

/** Nodes are asked for as long as somebody has read the metrics within this time. */
const idleMs = 2 * 60_000;
/** Between the first two measurements: the first reader waits for both. */
const firstWindowMs = 2000;
/** The first reader does not wait longer than this for slow nodes. */
const patienceMs = 3000;
const nodeTimeoutMs = 10_000;
const nodesAtOnce = 64;
/** Nodes that failed the last time share fewer turns, so that they do not delay the others. */
const failingAtOnce = 16;

/**
 * Asks all nodes what their pods use, every 15 seconds while somebody wants to know. Nobody asks on most clusters, so it
 * starts with the first reader and stops some time after the last.
 */
export class UsageScraper implements AsyncDisposable {
  readonly #deps: ScraperDeps;
  readonly #histories = new Map<string, NodeHistory>();
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #failing = new Set<string>();
  readonly #slots = new Semaphore(nodesAtOnce);
  readonly #slotsOfFailing = new Semaphore(failingAtOnce);
  readonly #end = new AbortController();
  #askedMs = 0;
  #running: { readonly warm: Promise<void>; readonly ended: Promise<void> } | undefined;

  constructor(deps: ScraperDeps) {
    this.#deps = deps;
  }

  /** Resolves when there is something to read. For the first reader after a while, that takes two measurements. */
  async wanted(signal: AbortSignal): Promise<void> {
    this.#askedMs = this.#deps.clock.now();
    this.#running ??= this.#start();
    const gone = Promise.withResolvers<never>();
    const leave = () => gone.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([this.#running.warm, gone.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  nodeUsage(node: string): MeasuredUsage | undefined {
    const pair = this.#histories.get(node)?.node;
    return pair && usageOf(pair);
  }

  /** As the node on which the pod is reports it. */
  podUsage({ metadata: { namespace, name }, spec }: Pod): PodUsage | undefined {
    return podUsageOf(this.#histories.get(spec.nodeName ?? "")?.pod(`${namespace}/${name}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the server ends"));
    await this.#running?.ended;
    await Promise.all(this.#inFlight.values());
  }

  #start() {
    const warm = Promise.withResolvers<void>();
    const ended = this.#run(warm.resolve, this.#end.signal)
      .catch((error: unknown) => {
        if (!isAbort(error, this.#end.signal)) this.#deps.log.error("node metrics are no longer read", { error });
      })
      .finally(() => {
        warm.resolve();
        this.#histories.clear();
        this.#running = undefined;
      });
    return { warm: warm.promise, ended };
  }

  async #run(warm: () => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    await this.#patiently(this.#askAll(), signal);
    await clock.sleep(firstWindowMs, signal);
    await this.#patiently(this.#askAll(), signal);
    warm();
    while (clock.now() - this.#askedMs < idleMs) {
      await clock.sleep(resolutionMs, signal);
      // Whoever takes long is not asked again meanwhile, and nobody waits for it.
      void this.#askAll();
    }
  }

  async #patiently(round: Promise<unknown>, signal: AbortSignal): Promise<void> {
    await withDeadline(patienceMs, { clock: this.#deps.clock, signal }, () => round);
  }

  #askAll(): Promise<unknown> {
    const names = new Set(this.#deps.nodes.list().map(({ metadata }) => metadata.name));
    for (const known of [...this.#histories.keys(), ...this.#failing]) {
      if (!names.has(known)) this.#forget(known);
    }
    for (const name of names) {
      if (this.#inFlight.has(name)) continue;
      const slots = this.#failing.has(name) ? this.#slotsOfFailing : this.#slots;
      const asked = slots.take(() => this.#ask(name)).finally(() => this.#inFlight.delete(name));
      this.#inFlight.set(name, asked);
    }
    return Promise.all(this.#inFlight.values());
  }

  #historyOf(node: string): NodeHistory {
    const history = this.#histories.get(node) ?? new NodeHistory();
    this.#histories.set(node, history);
    return history;
  }

  #forget(name: string): void {
    this.#histories.delete(name);
    this.#failing.delete(name);
  }

  /** Never throws. */
  async #ask(name: string): Promise<void> {
    const { clock, log, read } = this.#deps;
    try {
      const limits = { clock, signal: this.#end.signal };
      const report = await withDeadline(nodeTimeoutMs, limits, async (signal) => {
        const answer = await read(name, signal);
        return "pods" in answer ? answer : await readResourceMetrics(answer, this.#containersOn(name));
      });
      if (report === outOfTime) throw new Error(`no answer within ${nodeTimeoutMs} ms`);
      this.#failing.delete(name);
      if (this.#running) this.#historyOf(name).take(report);
    } catch (error) {
      if (this.#end.signal.aborted) return;
      this.#forget(name);
      if (this.#deps.nodes.get({ name })) this.#failing.add(name);
      log.info("a node did not report its metrics", { node: name, error });
    }
  }

  /** A node reports only about its own pods. */
  #containersOn(node: string): ContainersOf {
    return (namespace, name) => {
      const pod = this.#deps.pods.get({ namespace, name });
      if (pod?.spec.nodeName !== node) return undefined;
      const names = new Set<string>();
      const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
      for (const container of containers) names.add(container.name);
      for (const container of initContainers) names.add(container.name);
      for (const container of ephemeralContainers) names.add(container.name);
      return names;
    };
  }
}
