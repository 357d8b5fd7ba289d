import { type Pod } from "#api/core/pod.ts";
import { type Random } from "#lib/random.ts";
import { type PodState, type Profile, type Rejection, type SchedulerPlugin } from "./framework.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** Where a pod goes, or why nowhere. */
export type Decision =
  | { readonly node: string; readonly score: number; readonly feasible: number; readonly evaluated: number }
  | {
      readonly node: undefined;
      readonly rejections: ReadonlyMap<string, Rejection & { plugin: string }>;
      readonly evaluated: number;
    };

/** Decides for one pod after another over the same snapshot. Pods that are alike share their work until a node changes. */
export class Decider {
  readonly #profile: Profile;
  readonly #snapshot: Snapshot;
  readonly #random: Random;
  readonly #classes = new Map<string, PodClass>();

  constructor(profile: Profile, snapshot: Snapshot, random: Random) {
    this.#profile = profile;
    this.#snapshot = snapshot;
    this.#random = random;
  }

  decide(pod: Pod): Decision {
    const nodes = this.#candidates(pod);
    const podClass = this.#classOf(pod);
    podClass.refresh(pod, nodes);
    return podClass.choose(nodes, this.#random);
  }

  #candidates(pod: Pod): readonly NodeInfo[] {
    let names: ReadonlySet<string> | undefined;
    for (const plugin of this.#profile.plugins) {
      const found = plugin.candidates?.(pod);
      if (found) names = names ? names.intersection(found) : found;
    }
    if (!names) return this.#snapshot.nodes;
    return this.#snapshot.nodes.filter(({ name }) => names.has(name));
  }

  #classOf(pod: Pod): PodClass {
    const key = likeness(pod);
    let podClass = this.#classes.get(key);
    if (!podClass) {
      if (this.#classes.size >= maxClasses) this.#classes.clear();
      podClass = new PodClass(this.#profile.plugins, this.#snapshot);
      this.#classes.set(key, podClass);
    }
    return podClass;
  }
}

const maxClasses = 256;

/** Two pods with the same text get the same answers from every plugin on every node. */
function likeness({ spec, metadata }: Pod): string {
  return JSON.stringify([
    metadata.namespace,
    spec.nodeName,
    spec.nodeSelector,
    spec.affinity,
    spec.tolerations,
    spec.overhead,
    spec.resources,
    spec.containers.map(({ image, resources, ports }) => [image, resources, ports]),
    spec.initContainers?.map(({ image, resources, ports, restartPolicy }) => [image, resources, ports, restartPolicy]),
  ]);
}

interface Judged {
  version: number;
  rejection: (Rejection & { plugin: string }) | undefined;
  /** Raw scores, one per scoring plugin. */
  readonly scores: Float64Array;
}

/** What is known about one kind of pod on each node. */
class PodClass {
  readonly #filters: readonly SchedulerPlugin[];
  readonly #scorers: readonly SchedulerPlugin[];
  readonly #plugins: readonly SchedulerPlugin[];
  readonly #snapshot: Snapshot;
  readonly #judged = new Map<string, Judged>();
  #states = new Map<SchedulerPlugin, { filter: PodState; score: PodState }>();

  constructor(plugins: readonly SchedulerPlugin[], snapshot: Snapshot) {
    this.#plugins = plugins;
    this.#filters = plugins.filter(({ filter }) => filter);
    this.#scorers = plugins.filter(({ score }) => score);
    this.#snapshot = snapshot;
  }

  /** Judges those nodes again that have changed since the last pod of this kind. */
  refresh(pod: Pod, nodes: readonly NodeInfo[]): void {
    let prepared = false;
    for (const info of nodes) {
      const judged = this.#judged.get(info.name);
      if (judged?.version === info.version) continue;
      if (!prepared) this.#prepare(pod);
      prepared = true;
      this.#judge(
        pod,
        info,
        judged ?? { version: 0, rejection: undefined, scores: new Float64Array(this.#scorers.length) },
      );
    }
  }

  choose(nodes: readonly NodeInfo[], random: Random): Decision {
    const feasible: { name: string; scores: Float64Array }[] = [];
    for (const { name } of nodes) {
      const judged = this.#judged.get(name);
      if (judged && !judged.rejection) feasible.push({ name, scores: judged.scores });
    }
    if (feasible.length === 0) return { node: undefined, rejections: this.#rejections(nodes), evaluated: nodes.length };
    const totals = this.#totals(feasible);
    const best = largestAt(totals, random);
    const node = feasible[best]?.name ?? "";
    return { node, score: totals[best] ?? 0, feasible: feasible.length, evaluated: nodes.length };
  }

  #prepare(pod: Pod): void {
    this.#states = new Map(
      this.#plugins.map((plugin) => [
        plugin,
        { filter: plugin.preFilter?.(pod, this.#snapshot), score: plugin.preScore?.(pod, this.#snapshot) },
      ]),
    );
  }

  #judge(pod: Pod, info: NodeInfo, judged: Judged): void {
    judged.version = info.version;
    judged.rejection = this.#filter(pod, info);
    if (!judged.rejection) this.#score(pod, info, judged.scores);
    this.#judged.set(info.name, judged);
  }

  #filter(pod: Pod, info: NodeInfo): Judged["rejection"] {
    for (const plugin of this.#filters) {
      const state = this.#states.get(plugin)?.filter;
      // A plugin that had nothing to prepare for this pod has nothing against any node.
      if (plugin.preFilter && state === undefined) continue;
      const rejection = plugin.filter?.(pod, info, state);
      if (rejection) return { ...rejection, plugin: plugin.name };
    }
    return undefined;
  }

  #score(pod: Pod, info: NodeInfo, scores: Float64Array): void {
    this.#scorers.forEach((plugin, at) => {
      const state = this.#states.get(plugin)?.score;
      scores[at] = plugin.preScore && state === undefined ? 0 : (plugin.score?.(pod, info, state) ?? 0);
    });
  }

  #totals(feasible: readonly { scores: Float64Array }[]): Float64Array {
    const totals = new Float64Array(feasible.length);
    this.#scorers.forEach((plugin, at) => {
      const scores = Float64Array.from(feasible, (each) => each.scores[at] ?? 0);
      plugin.normalize?.(scores);
      const weight = plugin.weight ?? 1;
      for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    });
    return totals;
  }

  #rejections(nodes: readonly NodeInfo[]): ReadonlyMap<string, Rejection & { plugin: string }> {
    const rejections = new Map<string, Rejection & { plugin: string }>();
    for (const { name } of nodes) {
      const rejection = this.#judged.get(name)?.rejection;
      if (rejection) rejections.set(name, rejection);
    }
    return rejections;
  }
}

/** The place of the largest; among equals any, each as likely as the next. */
function largestAt(values: Float64Array, random: Random): number {
  let best = 0;
  let equals = 1;
  for (let i = 1; i < values.length; i++) {
    const [value, largest] = [values[i] ?? 0, values[best] ?? 0];
    if (value > largest) {
      best = i;
      equals = 1;
    } else if (value === largest && random() * ++equals < 1) {
      best = i;
    }
  }
  return best;
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function explainRejections(rejections: ReadonlyMap<string, Rejection>, total: number): string {
  if (total === 0) return "no nodes available to schedule pods";
  const counts = new Map<string, number>();
  for (const { reasons } of rejections.values()) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${total} nodes are available: ${parts.join(", ")}.`;
}
