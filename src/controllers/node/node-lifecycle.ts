import { Lease } from "#api/coordination/lease.ts";
import { Node } from "#api/core/node.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition, withCondition } from "#api/meta/condition.ts";
import { nodeLeaseNamespace } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import {
  type Eviction,
  isCounted,
  isEvicting,
  isNodeReady,
  type NodeLifecycleOptions,
  planEvictionRate,
  planTaints,
  readyOf,
  silentConditions,
  type ZoneCount,
  zoneOf,
} from "./plan-node-health.ts";
import { ZoneCounts } from "./zone-counts.ts";

const monitorMs = 5_000;

/** Detects nodes that stopped reporting or are unhealthy, and keeps pods away from them. */
export const nodeLifecycleController =
  (options: NodeLifecycleOptions = {}) =>
  (deps: ReconcilerDeps): Reconciler<Node> =>
    createLifecycle(deps, options);

function createLifecycle(deps: ReconcilerDeps, options: NodeLifecycleOptions): Reconciler<Node> {
  const { informers, events } = deps;
  const nodes = informers.of(Node);
  const zones = new ZoneCounts();
  const lifecycle = new NodeLifecycle(deps, { nodes, pods: informers.of(Pod), zones, options });
  const heartbeats = lifecycle.heartbeats;
  return {
    name: "node-lifecycle",
    reconciles: Node,
    watches: [
      watch(Lease, (change) => {
        const { namespace, name } = change.object.metadata;
        if (namespace !== nodeLeaseNamespace || change.type === "delete") return [];
        heartbeats.lease(name, change.object.spec.renewTime ?? "");
        // A healthy node is checked at its own time; one that was marked as unknown is checked now.
        const node = nodes.get({ name });
        return node && readyOf(node) === "Unknown" ? [{ name }] : [];
      }),
    ],
    follow: () => nodes.subscribe((change) => zones.note(change)),
    reconcile: (node, signal) => lifecycle.reconcile(node, signal),
    async gone({ name }) {
      lifecycle.forget(name);
      const about = { apiVersion: "v1", kind: "Node", name };
      events.event(about, "Normal", "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`);
    },
  };
}

interface Watched {
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly zones: ZoneCounts;
  readonly options: NodeLifecycleOptions;
}

class NodeLifecycle {
  readonly heartbeats: Heartbeats;
  readonly #deps: ReconcilerDeps;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #zones: ZoneCounts;
  readonly #options: NodeLifecycleOptions;
  readonly #limits: EvictionLimits;
  /** The transition to not ready after which the pods of each node were marked. */
  readonly #marked = new Map<string, string>();
  /** Nodes that were ready in their last check. */
  readonly #wasReady = new Set<string>();
  readonly #known = new Set<string>();
  #allDown = false;

  constructor(deps: ReconcilerDeps, { nodes, pods, zones, options }: Watched) {
    this.#deps = deps;
    this.#nodes = nodes;
    this.#pods = pods;
    this.#zones = zones;
    this.#options = options;
    this.heartbeats = new Heartbeats(deps.clock);
    this.#limits = new EvictionLimits(deps.clock);
  }

  async reconcile(seen: Node, signal: AbortSignal): Promise<Again | undefined> {
    this.#register(seen);
    const lastMs = this.heartbeats.last(seen);
    const { graceMs = 50_000, startupGraceMs = 60_000 } = this.#options;
    const dueMs = lastMs + (readyOf(seen) === undefined ? startupGraceMs : graceMs);
    const { clock } = this.#deps;
    const isSilent = clock.now() > dueMs;
    const node = isSilent ? await this.#giveUp(seen, signal) : seen;
    if (!node) return undefined;
    const labeled = await this.#label(node, signal);
    const waitMs = await this.#taint(labeled, signal);
    await this.#markPods(labeled, signal);
    const nextMs = isSilent ? Infinity : dueMs - clock.now() + 1;
    // What happens to a node that is not ready depends on the state of the others.
    const lookMs = isNodeReady(labeled) ? Infinity : monitorMs;
    return againAfter(Math.min(nextMs, lookMs, waitMs ?? Infinity));
  }

  forget(name: string): void {
    this.#wasReady.delete(name);
    this.heartbeats.forget(name);
    this.#marked.delete(name);
    this.#known.delete(name);
  }

  #register(node: Node): void {
    const { name } = node.metadata;
    if (this.#known.has(name)) return;
    this.#known.add(name);
    const message = `Node ${name} event: Registered Node ${name} in Controller`;
    this.#deps.events.event(referenceTo(Node, node), "Normal", "RegisteredNode", message);
  }

  /** It has not reported for too long. Returns undefined if it is gone. */
  async #giveUp(node: Node, signal: AbortSignal): Promise<Node | undefined> {
    const conditions = silentConditions(node, this.#deps.clock.now());
    if (equal(findCondition(conditions, "Ready"), findCondition(node.status.conditions, "Ready"))) return node;
    const status = { ...node.status, conditions };
    return await writeStatusIfChanged(this.#deps, { resource: Node, object: node, status }, signal);
  }

  /** Keeps the older names of two labels. */
  async #label(node: Node, signal: AbortSignal): Promise<Node> {
    const { labels = {}, resourceVersion } = node.metadata;
    const wanted: Record<string, string> = {};
    for (const label of ["os", "arch"]) {
      const value = labels[`kubernetes.io/${label}`];
      if (value !== undefined && labels[`beta.kubernetes.io/${label}`] !== value) {
        wanted[`beta.kubernetes.io/${label}`] = value;
      }
    }
    if (Object.keys(wanted).length === 0) return node;
    const body = { metadata: { resourceVersion, labels: wanted } };
    return await this.#deps.client.patch(Node, node, { type: "merge", body }, { signal });
  }

  /** Returns how long to wait if eviction is not allowed yet. */
  async #taint(node: Node, signal: AbortSignal): Promise<number | undefined> {
    const { client, clock } = this.#deps;
    const { eviction, waitMs } = this.#eviction(node);
    const taints = planTaints(node, eviction, clock.now());
    if (taints !== node.spec.taints && taints.length + (node.spec.taints?.length ?? 0) > 0) {
      const { resourceVersion } = node.metadata;
      const body = { metadata: { resourceVersion }, spec: { taints: taints.length > 0 ? taints : null } };
      await client.patch(Node, node, { type: "merge", body }, { signal });
    }
    return waitMs;
  }

  #eviction(node: Node): { readonly eviction: Eviction; readonly waitMs?: number } {
    const { zone, all } = this.#countsWith(node);
    const allDown = !isNodeReady(node) && all.total > 0 && all.failed === all.total;
    // After a failure on our side, every node gets a new grace period.
    if (this.#allDown && !allDown) this.heartbeats.renewAll();
    this.#allDown = allDown;
    if (allDown) return { eviction: "never" };
    if (isNodeReady(node) || readyOf(node) === undefined || isEvicting(node)) return { eviction: "evict" };
    const rate = planEvictionRate(zone, all, this.#options);
    if (rate === 0) return { eviction: "wait" };
    const waitMs = this.#limits.take(zoneOf(node), rate);
    return waitMs > 0 ? { eviction: "wait", waitMs } : { eviction: "evict" };
  }

  /** The counts as they are once the cache shows this state of the node. */
  #countsWith(node: Node): { readonly zone: ZoneCount; readonly all: ZoneCount } {
    const [zone, all] = [this.#zones.in(zoneOf(node)), this.#zones.all];
    const cached = this.#nodes.get(node.metadata);
    const isNews = cached !== undefined && isNodeReady(cached) && !isNodeReady(node) && isCounted(node);
    if (!isNews) return { zone, all };
    return { zone: { ...zone, failed: zone.failed + 1 }, all: { ...all, failed: all.failed + 1 } };
  }

  /** The pods of a node that is not ready are not ready either, whatever they last reported. */
  async #markPods(node: Node, signal: AbortSignal): Promise<void> {
    const { name } = node.metadata;
    const ready = findCondition(node.status.conditions, "Ready");
    if (!ready || ready.status === "True") {
      this.#marked.delete(name);
      if (ready) this.#wasReady.add(name);
      return;
    }
    const since = ready.lastTransitionTime ?? "";
    if (this.#marked.get(name) === since) return;
    // A new node has not stopped being ready.
    if (this.#wasReady.delete(name)) {
      const message = `Node ${name} status is now: NodeNotReady`;
      this.#deps.events.event(referenceTo(Node, node), "Normal", "NodeNotReady", message);
    }
    await Promise.all(
      this.#pods
        .by("node", name)
        .filter(isReady)
        .map((pod) => this.#markPod(pod, signal)),
    );
    this.#marked.set(name, since);
  }

  async #markPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock, events } = this.#deps;
    const ready = findCondition(pod.status.conditions, "Ready");
    if (!ready) return;
    const condition = { ...ready, status: "False" as const, lastTransitionTime: timestamp(clock.now()) };
    const status = { ...pod.status, conditions: withCondition(pod.status.conditions, condition) };
    const marked = await writeStatusIfChanged(this.#deps, { resource: Pod, object: pod, status }, signal);
    if (marked) events.event(referenceTo(Pod, pod), "Warning", "NodeNotReady", "Node is not ready");
  }
}

interface Heartbeat {
  readonly renewTime: string;
  readonly heartbeatTime: string | undefined;
  readonly atMs: number;
}

/** When each node last reported, by our own clock, because theirs may be wrong. */
class Heartbeats {
  readonly #clock: Clock;
  readonly #last = new Map<string, Heartbeat>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  lease(name: string, renewTime: string): void {
    const last = this.#last.get(name);
    if (last?.renewTime === renewTime) return;
    this.#last.set(name, { renewTime, heartbeatTime: last?.heartbeatTime, atMs: this.#clock.now() });
  }

  last({ metadata, status }: Node): number {
    const { name } = metadata;
    const last = this.#last.get(name);
    const ready = findCondition(status.conditions, "Ready");
    const heartbeatTime = ready?.lastHeartbeatTime;
    const renewTime = last?.renewTime ?? "";
    if (!ready && !last) {
      const atMs = Date.parse(metadata.creationTimestamp) || this.#clock.now();
      this.#last.set(name, { renewTime, heartbeatTime, atMs });
      return atMs;
    }
    // A status that we wrote ourselves is not a heartbeat: it leaves the heartbeat's time unchanged.
    if (last && last.heartbeatTime === heartbeatTime) return last.atMs;
    const atMs = this.#clock.now();
    this.#last.set(name, { renewTime, heartbeatTime, atMs });
    return atMs;
  }

  renewAll(): void {
    const atMs = this.#clock.now();
    for (const [name, last] of this.#last) this.#last.set(name, { ...last, atMs });
  }

  forget(name: string): void {
    this.#last.delete(name);
  }
}

/** Rate limit of evictions: one node of a zone at a time. */
class EvictionLimits {
  readonly #clock: Clock;
  readonly #nextMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns 0 if this node may be evicted now, otherwise how long to wait. */
  take(zone: string, perSecond: number): number {
    const now = this.#clock.now();
    const next = this.#nextMs.get(zone) ?? 0;
    if (next > now) return next - now;
    this.#nextMs.set(zone, now + 1000 / perSecond);
    return 0;
  }
}
