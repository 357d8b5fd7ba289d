import { Node, NodeStatus, type Taint } from "#api/core/node.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#api/status.ts";
import { hostnameLabel, managedAttachAnnotation } from "#api/well-known.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { ContainerRuntime, RuntimeVersion } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { withDeadline } from "#lib/async/deadline.ts";
import { isAbort, orAborted } from "#lib/async/tasks.ts";
import { equal } from "#lib/data/equal.ts";
import type { Log } from "#lib/process/log.ts";
import { insist } from "../insist.ts";
import type { Machine } from "./machine.ts";
import { conditionEvents, type NodeStatusInput, nodeStatus } from "./node-status.ts";

export interface NodeDeps {
  readonly nodeName: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly runtime: ContainerRuntime;
  readonly version: RuntimeVersion;
  readonly machine: Machine;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly kubeletPort: number;
  /** The node's pod ranges, if nobody else assigns them. */
  readonly podCidrs: readonly string[];
  /** How often to check for changes. */
  readonly checkMs: number;
  /** An unchanged status is reported again after this time. */
  readonly reportMs: number;
  /** How many images the status shows. */
  readonly maxImages: number;
  /** The machine's name at its cloud provider, for a new Node. */
  readonly providerId?: string;
  /** Which resources of the node run out. */
  pressure(): NodeStatusInput["pressure"];
  isShuttingDown(): boolean;
  devices(): NodeStatusInput["devices"];
  /** Resolves when the next check should happen early. */
  changed(): Promise<void>;
  /** The Node as it was last seen in the API. */
  seen(): Node | undefined;
  /** Called with the Node as stored in the API, once it exists. */
  registered(node: Node): void;
}

export const kubeletVersion = "v1.36.4";
const fieldManager = "kubelet";
const unreadyCheckMs = 200;

/** Registers the node and keeps its status up to date, until the signal. */
export async function runNode(deps: NodeDeps, signal: AbortSignal): Promise<void> {
  const limits = { clock: deps.clock, log: deps.log, signal };
  const first = await insist(limits, "could not register the node", () => register(deps, signal));
  deps.registered(first);
  const about = { kind: "Node", name: deps.nodeName, uid: deps.nodeName };
  deps.events.event(about, "Normal", "Starting", "Starting kubelet.");
  let node = first;
  let reportedAt = deps.clock.now();
  while (!signal.aborted) {
    const isReady = isConditionTrue(node.status.conditions, "Ready");
    const pauseMs = isReady ? deps.checkMs : unreadyCheckMs;
    await withDeadline(pauseMs, { clock: deps.clock, signal }, deps.changed);
    node = newestOf(node, deps.seen());
    node = await insist(limits, "could not report the node's status", async () => {
      const status = await observe(deps, node.status, signal);
      const now = deps.clock.now();
      const isSame = semanticEqual(NodeStatus, withoutHeartbeat(status), withoutHeartbeat(node.status));
      if (isSame && now - reportedAt < deps.reportMs) return node;
      reportedAt = now;
      return await report(deps, node, status, signal);
    });
  }
}

/** The same Node as others have left it, unless what was seen is older. */
const newestOf = (own: Node, seen: Node | undefined): Node =>
  seen?.metadata.uid === own.metadata.uid &&
  Number(seen.metadata.resourceVersion) > Number(own.metadata.resourceVersion)
    ? seen
    : own;

async function observe(deps: NodeDeps, previous: Partial<NodeStatus>, signal: AbortSignal): Promise<NodeStatus> {
  const [runtimeConditions, images] = await Promise.all([
    answerOf(deps, signal, (limit) => deps.runtime.conditions(limit)),
    answerOf(deps, signal, (limit) => deps.runtime.listImages(limit)),
  ]);
  const { machine, kubeletPort, clock, maxImages } = deps;
  return nodeStatus({
    machine,
    kubeletVersion,
    kubeletPort,
    runtime: deps.version,
    runtimeConditions,
    images,
    maxImages,
    pressure: deps.pressure(),
    isShuttingDown: deps.isShuttingDown(),
    devices: deps.devices(),
    previous,
    now: clock.now(),
  });
}

/** How long the runtime may be silent before it counts as down; the same as upstream's. */
const runtimeTimeoutMs = 30_000;

/** The runtime's answer; undefined if it fails or hangs. */
async function answerOf<T>(
  { clock }: NodeDeps,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const over = new AbortController();
  const limit = AbortSignal.any([signal, over.signal]);
  clock.sleep(runtimeTimeoutMs, limit).then(
    () => over.abort(new Error("the runtime does not answer")),
    () => undefined,
  );
  try {
    return await orAborted(ask(limit), limit);
  } catch (error) {
    if (isAbort(error, signal)) throw error;
    return [];
  } finally {
    over.abort();
  }
}

/** Creates the Node, or takes over an existing one: it may be ours from before a restart. */
async function register(deps: NodeDeps, signal: AbortSignal): Promise<Node> {
  const { client, nodeName, machine, taints, podCidrs } = deps;
  const labels = {
    "beta.kubernetes.io/arch": machine.architecture,
    "beta.kubernetes.io/os": machine.operatingSystem,
    "kubernetes.io/arch": machine.architecture,
    [hostnameLabel]: machine.hostname,
    "kubernetes.io/os": machine.operatingSystem,
    ...deps.labels,
  };
  const annotations = { [managedAttachAnnotation]: "true" };
  const spec = {
    ...(deps.providerId ? { providerID: deps.providerId } : {}),
    ...(taints.length > 0 ? { taints: [...taints] } : {}),
    ...(podCidrs[0] ? { podCIDR: podCidrs[0], podCIDRs: [...podCidrs] } : {}),
  };
  const status = await observe(deps, {}, signal);
  try {
    const created = await client.create(
      Node,
      { metadata: { name: nodeName, labels, annotations }, spec, status },
      { signal, fieldManager },
    );
    recordConditionEvents(deps, [], created);
    deps.log.info("node registered", { node: nodeName });
    return created;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const old = await client.get(Node, { name: nodeName }, { signal });
  // The volumes of this node are tied to the host name that it had when they were made.
  const hostname = old.metadata.labels?.[hostnameLabel] ?? labels[hostnameLabel];
  const wanted = { ...old.metadata.labels, ...labels, [hostnameLabel]: hostname };
  let node = old;
  if (!equal(wanted, old.metadata.labels ?? {})) {
    const body = { metadata: { labels: wanted, annotations } };
    node = await client.patch(Node, { name: nodeName }, { type: "merge", body }, { signal, fieldManager });
  }
  return await report(deps, node, await observe(deps, node.status, signal), signal);
}

async function report(deps: NodeDeps, node: Node, status: NodeStatus, signal: AbortSignal): Promise<Node> {
  const { client, nodeName } = deps;
  try {
    const written = await client.updateStatus(Node, { ...node, status }, { signal, fieldManager });
    recordConditionEvents(deps, node.status.conditions ?? [], written);
    return written;
  } catch (error) {
    if (isConflict(error)) {
      const fresh = await client.get(Node, { name: nodeName }, { signal });
      // Others write parts of the status too, such as extended resources and the volumes of CSI drivers.
      return await report(deps, fresh, await observe(deps, fresh.status, signal), signal);
    }
    if (isNotFound(error)) return await register(deps, signal);
    throw error;
  }
}

function recordConditionEvents(
  { events, nodeName }: NodeDeps,
  before: NonNullable<NodeStatus["conditions"]>,
  node: Node,
): void {
  const about = { kind: "Node", name: nodeName, uid: nodeName };
  for (const reason of conditionEvents(before, node.status.conditions ?? [])) {
    events.event(about, "Normal", reason, `Node ${nodeName} status is now: ${reason}`);
  }
}

const withoutHeartbeat = (status: NodeStatus): NodeStatus => ({
  ...status,
  conditions: (status.conditions ?? []).map(({ lastHeartbeatTime: _, ...condition }) => condition),
});
