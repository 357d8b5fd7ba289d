import { type Pod } from "#api/core/pod.ts";
import { LruMap } from "#lib/lru-map.ts";
import { type Random } from "#lib/random.ts";
import { explainRefusal, explainRejections, noNodes, type Rejections } from "./explain.ts";
import { type Profile, type Rejection, type SchedulerPlugin } from "./framework.ts";
import { PodClass } from "./pod-class.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** Where a pod goes, or why nowhere. */
export type Decision = Placement | NoPlacement;

export interface Placement {
  readonly node: string;
  readonly score: number;
  readonly feasible: number;
  readonly evaluated: number;
}

export interface NoPlacement {
  readonly node: undefined;
  readonly rejections: Rejections;
  readonly evaluated: number;
  readonly message: string;
  /** The plugins that had something against it; none, if there was no node at all. */
  readonly rejectedBy: ReadonlySet<string>;
}

/** The nodes that plugins name, and which plugins did. */
interface Named {
  readonly names: ReadonlySet<string>;
  readonly plugins: readonly string[];
}

/** Kinds of pods that are remembered; what was not asked for longest is forgotten. */
const maxClasses = 128;

/** Decides for one pod after another over the same snapshot. Pods that are alike share their work until a node changes. */
export class Decider {
  readonly #profile: Profile;
  readonly #snapshot: Snapshot;
  readonly #random: Random;
  readonly #classes = new LruMap<string, PodClass>(maxClasses);
  readonly #looking: readonly SchedulerPlugin[];
  /** false: a plugin does not say what it looks at, so no two pods are alike. */
  readonly #canShare: boolean;

  constructor(profile: Profile, snapshot: Snapshot, random: Random) {
    this.#profile = profile;
    this.#snapshot = snapshot;
    this.#random = random;
    this.#looking = profile.plugins.filter(({ filter, score }) => filter ?? score);
    this.#canShare = this.#looking.every(({ looksAt }) => looksAt);
  }

  decide(pod: Pod): Decision {
    const { nodes } = this.#snapshot;
    if (nodes.length === 0) return refused(noNodes, []);
    const named = this.#named(pod);
    if (named && "message" in named) return named;
    const nominated = this.#tryNominated(pod);
    if (nominated) return nominated;
    if (named) return this.#decideAmong(pod, named);
    const podClass = this.#classOf(pod);
    podClass.refresh(pod, nodes);
    return this.#conclude(podClass, nodes, undefined);
  }

  #named(pod: Pod): Named | NoPlacement | undefined {
    let names: ReadonlySet<string> | undefined;
    const plugins: string[] = [];
    const total = this.#snapshot.nodes.length;
    for (const { name, candidates } of this.#profile.plugins) {
      const found = candidates?.(pod);
      if (!found) continue;
      if (isRejection(found)) return refused(explainRefusal(found.reasons.join(", "), total), [name]);
      names = names ? names.intersection(found) : found;
      plugins.push(name);
      if (names.size === 0) return refused(explainRefusal(explainNone(plugins), total), plugins);
    }
    return names && { names, plugins };
  }

  /** Room was made for it there, or somebody else thinks that it should go there: if it fits, no other node needs a look. */
  #tryNominated(pod: Pod): Decision | undefined {
    const name = pod.status?.nominatedNodeName;
    const info = name ? this.#snapshot.get(name) : undefined;
    if (!info?.node) return undefined;
    const podClass = this.#classOf(pod);
    podClass.refresh(pod, [info]);
    const choice = podClass.choose([info], this.#random);
    return choice && { node: info.name, score: choice.score, feasible: 1, evaluated: 1 };
  }

  /** A pod that names its nodes is like no other, and there are few: nothing to remember. */
  #decideAmong(pod: Pod, named: Named): Decision {
    const nodes: NodeInfo[] = [];
    for (const name of named.names) {
      const info = this.#snapshot.get(name);
      if (info?.node) nodes.push(info);
    }
    const podClass = new PodClass(this.#profile.plugins, this.#snapshot);
    podClass.refresh(pod, nodes);
    return this.#conclude(podClass, nodes, named.plugins);
  }

  #conclude(podClass: PodClass, nodes: readonly NodeInfo[], naming: readonly string[] | undefined): Decision {
    const evaluated = nodes.length;
    const choice = podClass.choose(nodes, this.#random);
    if (choice) return { node: choice.info.name, score: choice.score, feasible: choice.feasible, evaluated };
    const rejections = podClass.rejections(nodes);
    const total = this.#snapshot.nodes.length;
    const leftOut = naming && { count: total - evaluated, plugins: naming };
    const message = explainRejections(rejections, total, leftOut);
    const rejectedBy = new Set(naming);
    for (const { plugin } of rejections.values()) rejectedBy.add(plugin);
    return { node: undefined, rejections, evaluated, message, rejectedBy };
  }

  #classOf(pod: Pod): PodClass {
    if (!this.#canShare) return new PodClass(this.#profile.plugins, this.#snapshot);
    const key = JSON.stringify(this.#looking.map((plugin) => plugin.looksAt?.(pod)));
    let podClass = this.#classes.get(key);
    if (!podClass) {
      podClass = new PodClass(this.#profile.plugins, this.#snapshot);
      this.#classes.set(key, podClass);
    }
    return podClass;
  }
}

const isRejection = (found: ReadonlySet<string> | Rejection): found is Rejection => "reasons" in found;

const refused = (message: string, plugins: readonly string[]): NoPlacement => ({
  node: undefined,
  rejections: new Map(),
  evaluated: 0,
  message,
  rejectedBy: new Set(plugins),
});

const explainNone = (plugins: readonly string[]): string =>
  plugins.length === 1
    ? `node(s) didn't satisfy plugin ${plugins[0]}`
    : `node(s) didn't satisfy plugin(s) [${plugins.toSorted().join(" ")}] simultaneously`;
