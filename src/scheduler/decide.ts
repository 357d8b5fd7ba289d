import { type Pod } from "#api/core/pod.ts";
import { firstByName } from "#lib/data/first-by-name.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Random } from "#lib/data/random.ts";
import { type NodeScore } from "#trace/answers.ts";
import { type Across, lookAcross } from "./across.ts";
import { explainRefusal, explainRejections, type LeftOut, noNodes, type Rejections } from "./explain.ts";
import type { Advice } from "./extenders/extenders.ts";
import { type Profile, type Rejection, reject, type SchedulerPlugin } from "./framework.ts";
import { type Choice, chooseAmong, filterAmong, Judge } from "./judge.ts";
import { PodClass } from "./pod-class.ts";
import { besideRivals } from "./preemption/beside-rivals.ts";
import { Nominations } from "./preemption/nominations.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** Where a pod goes, or why it cannot be placed. */
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
  /** The plugins that rejected it; empty if there was no node at all. */
  readonly rejectedBy: ReadonlySet<string>;
}

/** The nodes that plugins name, and those plugins. */
interface Named {
  readonly names: ReadonlySet<string>;
  readonly plugins: readonly string[];
}

/** How many pod classes are cached; the least recently used one is dropped. */
const maxClasses = 128;
/** The keys are texts of users. */
const maxKeyChars = 64 << 10;

/** Decides for one pod after another with the same snapshot. Equivalent pods share the work until a node changes. */
export class Decider {
  readonly #profile: Profile;
  readonly #snapshot: Snapshot;
  readonly #random: Random;
  readonly #classes = new LruMap<string, PodClass>(maxClasses);
  readonly #refusals = new WeakMap<Rejections, NoPlacement>();
  readonly #nominations: Nominations;
  /** Where the search for enough nodes begins, so that all of them are considered in turn. */
  #nextNode = 0;
  readonly #looking: readonly SchedulerPlugin[];
  readonly #naming: readonly SchedulerPlugin[];
  readonly #comparing: readonly SchedulerPlugin[];
  /** false if a plugin does not declare what it looks at, so that no two pods are equivalent. */
  readonly #canShare: boolean;

  constructor(profile: Profile, snapshot: Snapshot, random: Random, nominations = new Nominations()) {
    this.#profile = profile;
    this.#snapshot = snapshot;
    this.#random = random;
    this.#nominations = nominations;
    this.#looking = [...firstByName(profile.plugins.filter(({ filter, score }) => filter ?? score)).values()];
    this.#naming = profile.plugins.filter(({ candidates }) => candidates);
    this.#comparing = profile.plugins.filter(({ acrossNodes }) => acrossNodes);
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
    return this.#decideAmongAll(pod);
  }

  #decideAmongAll(pod: Pod): Decision {
    const podClass = this.#classOf(pod);
    podClass.refresh(pod);
    const across = this.#across(pod);
    const choice = this.#chooseIn(podClass, across);
    const evaluated = this.#snapshot.nodes.length;
    if (choice && "info" in choice) {
      return { node: choice.info.name, score: choice.score, feasible: choice.feasible, evaluated };
    }
    if (!choice || choice.size === 0) return this.#refusalOf(podClass.rejections);
    return noPlacement(new Map([...podClass.rejections, ...choice]), evaluated);
  }

  /** The best nodes for a pod and their scores by plugin, as long as nothing has changed since the decision. */
  bestScores(pod: Pod, count: number): readonly NodeScore[] | undefined {
    if (this.#named(pod)) return undefined;
    const podClass = this.#classOf(pod);
    podClass.refresh(pod);
    return podClass.bestScores(pod, this.#across(pod), count);
  }

  /** Every node that fits, for others to choose from, or why none does. */
  feasible(pod: Pod): readonly NodeInfo[] | NoPlacement {
    const { nodes } = this.#snapshot;
    if (nodes.length === 0) return refused(noNodes, []);
    const named = this.#named(pod);
    if (named && "message" in named) return named;
    const among = named ? this.#nodesOf(named.names) : nodes;
    const { feasible, rejections } = filterAmong(this.#judgeOf(pod), pod, among, this.#across(pod));
    if (feasible.length > 0) return feasible;
    return noPlacement(
      rejections,
      nodes.length,
      named && { count: nodes.length - among.length, plugins: named.plugins },
    );
  }

  /** Chooses among nodes that others have scored. The cluster may have changed meanwhile, so they are filtered again. */
  decideAdvised(pod: Pod, { scores, rejections }: Advice): Decision {
    const nodes = this.#nodesOf(scores.keys());
    const added = (info: NodeInfo): number => scores.get(info.name) ?? 0;
    const found = chooseAmong(this.#judgeOf(pod), pod, nodes, this.#random, this.#across(pod), added);
    const evaluated = nodes.length + rejections.size;
    const { choice } = found;
    if (choice) return { node: choice.info.name, score: choice.score, feasible: choice.feasible, evaluated };
    return noPlacement(new Map([...rejections, ...found.rejections]), this.#snapshot.nodes.length);
  }

  #nodesOf(names: Iterable<string>): NodeInfo[] {
    return Array.from(names, (name) => this.#snapshot.get(name)).filter((info) => info?.node) as NodeInfo[];
  }

  #chooseIn(podClass: PodClass, across: Across | undefined): Choice | Rejections | undefined {
    const { nodes } = this.#snapshot;
    const enough = this.#profile.enoughOf?.(nodes.length) ?? nodes.length;
    if (enough >= nodes.length) {
      if (!across) return podClass.choose(this.#random);
      if (across.only) return podClass.chooseUnless(across, across.only, this.#random);
      return podClass.chooseAcross(across, this.#random);
    }
    const { choice, seen } = podClass.chooseSome(across, this.#random, { from: this.#nextNode, enough });
    this.#nextNode = (this.#nextNode + seen) % nodes.length;
    return choice;
  }

  /** Computed once for equivalent pods while no node changes. */
  #refusalOf(rejections: Rejections): NoPlacement {
    let refusal = this.#refusals.get(rejections);
    if (!refusal) {
      refusal = noPlacement(rejections, this.#snapshot.nodes.length);
      this.#refusals.set(rejections, refusal);
    }
    return refusal;
  }

  #named(pod: Pod): Named | NoPlacement | undefined {
    let names: ReadonlySet<string> | undefined;
    const plugins: string[] = [];
    const total = this.#snapshot.nodes.length;
    for (const { name, candidates } of this.#naming) {
      const found = candidates?.(pod);
      if (!found) continue;
      if (isRejection(found)) return refused(explainRefusal(found.reasons.join(", "), total), [name]);
      names = names ? names.intersection(found) : found;
      plugins.push(name);
      if (names.size === 0) return refused(explainRefusal(explainNone(plugins), total), plugins);
    }
    return names && { names, plugins };
  }

  /** Preemption or another component has chosen this node: if the pod fits there, no other node is evaluated. */
  #tryNominated(pod: Pod): Decision | undefined {
    const name = pod.status?.nominatedNodeName;
    const info = name ? this.#snapshot.get(name) : undefined;
    if (!info?.node) return undefined;
    const { choice } = chooseAmong(this.#judgeOf(pod), pod, [info], this.#random, this.#across(pod));
    return choice && { node: info.name, score: choice.score, feasible: 1, evaluated: 1 };
  }

  /** A pod that names its nodes is rarely equivalent to another, and the nodes are few, so nothing is cached. */
  #decideAmong(pod: Pod, { names, plugins }: Named): Decision {
    const nodes = this.#nodesOf(names);
    const { choice, rejections } = chooseAmong(this.#judgeOf(pod), pod, nodes, this.#random, this.#across(pod));
    const evaluated = nodes.length;
    if (choice) return { node: choice.info.name, score: choice.score, feasible: choice.feasible, evaluated };
    return noPlacement(rejections, this.#snapshot.nodes.length, {
      count: this.#snapshot.nodes.length - evaluated,
      plugins,
    });
  }

  /** Whatever depends on other nodes, or on pods that wait for room on this one. */
  #across(pod: Pod): Across | undefined {
    const { plugins } = this.#profile;
    const across = lookAcross(this.#comparing, pod, this.#snapshot);
    const deps = { plugins, snapshot: this.#snapshot, nominations: this.#nominations };
    return this.#nominations.size > 0 ? besideRivals(deps, pod, across) : across;
  }

  #judgeOf(pod: Pod): Judge {
    return Judge.for(pod, this.#profile.plugins, this.#snapshot);
  }

  #classOf(pod: Pod): PodClass {
    if (!this.#canShare) return new PodClass(this.#profile.plugins, this.#snapshot);
    const key = JSON.stringify(this.#looking.map((plugin) => plugin.looksAt?.(pod)));
    let podClass = this.#classes.get(key);
    if (!podClass) {
      podClass = new PodClass(this.#profile.plugins, this.#snapshot);
      if (key.length <= maxKeyChars) this.#classes.set(key, podClass);
    }
    return podClass;
  }
}

function noPlacement(rejections: Rejections, total: number, leftOut?: LeftOut): NoPlacement {
  const rejectedBy = new Set(leftOut?.plugins);
  for (const { plugin } of rejections.values()) rejectedBy.add(plugin);
  const message = explainRejections(rejections, total, leftOut);
  return { node: undefined, rejections, evaluated: rejections.size, message, rejectedBy };
}

/** As upstream, if a plugin refuses the node after it was chosen: only this node is spoken of. */
export const refusedAt = (node: string, plugin: string, reason: string): NoPlacement =>
  noPlacement(new Map([[node, { ...reject(reason), plugin }]]), 1);

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
