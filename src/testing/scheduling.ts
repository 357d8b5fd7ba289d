import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type Profile, type SchedulerPlugin, type Verdict } from "#scheduler/framework.ts";
import { keyOf } from "#scheduler/pod-key.ts";
import { defaultProfile } from "#scheduler/profiles.ts";
import { type NodeInfo, Snapshot } from "#scheduler/snapshot.ts";
import { build } from "./build.ts";
import { createFakeInformers } from "./fake-informers.ts";
import { createVirtualClock } from "./virtual-clock.ts";

type NodeParts = { spec?: InputOf<Node>["spec"]; status?: InputOf<Node>["status"]; labels?: Record<string, string> };
type PodParts = Partial<InputOf<Pod>["spec"]> & { status?: InputOf<Pod>["status"]; labels?: Record<string, string> };

/** The default profile for tests that bind nothing, in a cluster without objects. */
export const testProfile = (): Profile =>
  defaultProfile({ client: {} as Client, informers: createFakeInformers(), clock: createVirtualClock() });

export const roomy = { cpu: "4", memory: "8Gi", "ephemeral-storage": "10Gi", pods: "10" };

/** A ready node with free resources, unless the parts say otherwise. */
export const makeNode = (name: string, { spec, status, labels }: NodeParts = {}): Node =>
  build(Node, {
    metadata: { name, labels: labels ?? {} },
    spec: spec ?? {},
    status: { allocatable: roomy, ...status },
  });

/** A pod with one empty container, unless the parts say otherwise. */
export const makePod = (name: string, { status, labels, ...spec }: PodParts = {}): Pod =>
  build(Pod, {
    metadata: { name, namespace: "default", ...(labels ? { labels } : {}) },
    spec: { containers: [{ name: "main", image: "web:1" }], ...spec },
    status: status ?? {},
  });

/** A container with requests. */
export const asking = (requests: Record<string, string>, name = "main") => ({
  name,
  image: "web:1",
  resources: { requests },
});

export function snapshotOf(nodes: readonly Node[], pods: readonly Pod[] = []): Snapshot {
  const snapshot = new Snapshot();
  for (const node of nodes) snapshot.setNode(node);
  for (const pod of pods) snapshot.setPod(podKey(pod), pod);
  return snapshot;
}

export const podKey = keyOf;

export function infoOf(snapshot: Snapshot, name: string): NodeInfo {
  const info = snapshot.get(name);
  if (!info) throw new Error(`no node ${name}`);
  return info;
}

/** A plugin's verdict on a node, prepared as for a real attempt. */
export function judge(plugin: SchedulerPlugin, pod: Pod, snapshot: Snapshot, name: string): Verdict {
  const state = plugin.preFilter?.(pod, snapshot);
  if (plugin.preFilter && state === undefined) return undefined;
  return plugin.filter?.(pod, infoOf(snapshot, name), state);
}

/** The plugin's scores of all nodes, normalised if the plugin does that. */
export function scoresOf(plugin: SchedulerPlugin, pod: Pod, snapshot: Snapshot): number[] {
  const state = plugin.preScore?.(pod, snapshot);
  if (plugin.preScore && state === undefined) return snapshot.nodes.map(() => 0);
  const scores = Float64Array.from(snapshot.nodes, (info) => plugin.score?.(pod, info, state) ?? 0);
  plugin.normalize?.(scores);
  return [...scores];
}
