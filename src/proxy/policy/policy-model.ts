import { createHash } from "node:crypto";
import { type LabelSelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { equal } from "#lib/data/equal.ts";
import { type PodPeer, type PolicyPlan, type RulePlan } from "./parse-policy.ts";
import { type PolicyGroup, type PolicyPod } from "./render-policy.ts";

type Labels = Readonly<Record<string, string>>;

export interface ModelPod extends PolicyPod {
  readonly namespace: string;
  readonly labels: Labels;
  /** Whether it runs on this node, which then enforces its policies. */
  readonly isLocal: boolean;
}

/** Pods with the same namespace and labels: selectors are evaluated once for all of them. */
interface PodClass {
  readonly namespace: string;
  readonly labels: Labels;
  readonly pods: Map<string, ModelPod>;
  /** The policies that select these pods, and their keys as one text. */
  readonly policies: Set<string>;
  members: string;
  readonly peers: Set<PeerSet>;
}

/** The pods that one peer of a rule stands for. */
interface PeerSet {
  readonly peer: PodPeer;
  readonly classes: Set<PodClass>;
  /** The policies with this peer. */
  readonly users: Set<string>;
}

const everyPod: PodPeer = { namespaces: {}, pods: {} };

/**
 * Which policies select which pods, and which pods their rules are about. Every change marks the groups that it concerns:
 * a group has the pods of this node that the same policies select.
 */
export class PolicyModel {
  readonly #namespaces = new Map<string, Labels>();
  readonly #classes = new Map<string, PodClass>();
  readonly #classesIn = new Map<string, Set<PodClass>>();
  readonly #classOfPod = new Map<string, PodClass>();
  readonly #policies = new Map<string, PolicyPlan>();
  readonly #policiesIn = new Map<string, Set<string>>();
  readonly #peers = new Map<string, PeerSet>();
  /** The groups with pods, by the policies that they have in common. */
  readonly #groups = new Map<string, Set<PodClass>>();
  readonly #groupsOf = new Map<string, Set<string>>();
  readonly #changed = new Set<string>();
  /** Peers to compare with the pods of a namespace, or with all pods. */
  readonly #unresolved: { readonly peers: PeerSet; readonly classes: Iterable<PodClass> }[] = [];

  get hasChanges(): boolean {
    return this.#changed.size > 0 || this.#unresolved.length > 0;
  }

  putNamespace(name: string, labels: Labels | undefined): void {
    const before = this.#namespaces.get(name);
    if (labels) this.#namespaces.set(name, labels);
    else this.#namespaces.delete(name);
    if (labelsKey(before ?? {}) === labelsKey(labels ?? {}) && Boolean(before) === Boolean(labels)) return;
    const classes = this.#classesIn.get(name);
    if (!classes) return;
    for (const peers of this.#peers.values()) {
      if (typeof peers.peer.namespaces !== "string") this.#unresolved.push({ peers, classes });
    }
  }

  putPod(key: string, pod: ModelPod | undefined): void {
    const before = this.#classOfPod.get(key);
    // Most changes of a pod's status are about something else.
    if (pod && equal(before?.pods.get(key), pod)) return;
    const now = pod && this.#classFor(pod);
    if (before) {
      before.pods.delete(key);
      this.#touch(before);
      if (before !== now && before.pods.size === 0) this.#forgetClass(before);
    }
    if (!pod || !now) {
      this.#classOfPod.delete(key);
      return;
    }
    now.pods.set(key, pod);
    this.#classOfPod.set(key, now);
    this.#join(now);
    this.#touch(now);
  }

  putPolicy(key: string, plan: PolicyPlan | undefined): void {
    const before = this.#policies.get(key);
    if (before) this.#leavePeers(key, before);
    if (plan) {
      this.#policies.set(key, plan);
      ensure(this.#policiesIn, plan.namespace).add(key);
      for (const peer of peersOf(plan)) this.#peerSet(peer).users.add(key);
    } else if (before) {
      this.#policies.delete(key);
      removeFrom(this.#policiesIn, before.namespace, key);
    }
    const classes = this.#classesIn.get(plan?.namespace ?? before?.namespace ?? "");
    for (const each of classes ?? []) this.#select(each, { key, isSelected: matches(plan?.selector, each.labels) });
    this.#touchPolicy(key);
  }

  /** Whether any policy selects the pod. */
  isSelected(key: string): boolean {
    return (this.#classOfPod.get(key)?.members ?? "") !== "";
  }

  /** Finds the pods of one peer. Returns whether there was one left. */
  resolveNext(): boolean {
    const next = this.#unresolved.pop();
    for (const each of next?.classes ?? []) if (next) this.#compare(next.peers, each);
    return next !== undefined;
  }

  /** Groups that have changed since the last call; undefined for one that is gone. All peers must be resolved. */
  *takeChanges(): Iterable<[id: string, group: PolicyGroup | undefined]> {
    for (const members of this.#changed) {
      this.#changed.delete(members);
      const id = idOf(members);
      const classes = this.#groups.get(members);
      yield [id, classes && this.#group(id, members, classes)];
    }
  }

  /** A group, and the keys of its policies. */
  group(id: string): (PolicyGroup & { readonly members: readonly string[] }) | undefined {
    const members = this.#groups.keys().find((each) => idOf(each) === id);
    const classes = members === undefined ? undefined : this.#groups.get(members);
    return members && classes ? { ...this.#group(id, members, classes), members: members.split(" ") } : undefined;
  }

  #group(id: string, members: string, classes: ReadonlySet<PodClass>): PolicyGroup {
    const policies = members.split(" ").flatMap((key) => this.#policies.get(key) ?? []);
    const pods = [...classes].flatMap((each) => [...localPods(each)]);
    return { id, policies, pods, membersOf: (rule) => this.#membersOf(rule) };
  }

  *#membersOf({ peers }: RulePlan): Iterable<PolicyPod> {
    const found = new Set<PodClass>();
    for (const peer of peers?.pods ?? [everyPod]) {
      for (const each of this.#peers.get(peerKey(peer))?.classes ?? []) found.add(each);
    }
    for (const { pods } of found) yield* pods.values();
  }

  #classFor({ namespace, labels }: ModelPod): PodClass {
    const key = classKey(namespace, labels);
    const known = this.#classes.get(key);
    if (known) return known;
    const keys = [...(this.#policiesIn.get(namespace) ?? [])];
    const policies = new Set(keys.filter((policy) => matches(this.#policies.get(policy)?.selector, labels)));
    const made = {
      namespace,
      labels,
      pods: new Map(),
      policies,
      members: membersText(policies),
      peers: new Set<PeerSet>(),
    };
    this.#classes.set(key, made);
    ensure(this.#classesIn, namespace).add(made);
    for (const peers of this.#peers.values()) this.#compare(peers, made);
    return made;
  }

  #forgetClass(each: PodClass): void {
    this.#leaveGroup(each);
    for (const peers of each.peers) peers.classes.delete(each);
    this.#classes.delete(classKey(each.namespace, each.labels));
    removeFrom(this.#classesIn, each.namespace, each);
  }

  #select(each: PodClass, { key, isSelected }: { readonly key: string; readonly isSelected: boolean }): void {
    if (each.policies.has(key) === isSelected) return;
    this.#leaveGroup(each);
    if (isSelected) each.policies.add(key);
    else each.policies.delete(key);
    each.members = membersText(each.policies);
    this.#join(each);
  }

  /** Adds the class to its group, if it has pods on this node and policies. */
  #join(each: PodClass): void {
    const { members } = each;
    if (members === "" || localPods(each).next().done) return;
    ensure(this.#groups, members).add(each);
    for (const key of each.policies) ensure(this.#groupsOf, key).add(members);
    this.#changed.add(members);
  }

  #leaveGroup(each: PodClass): void {
    const { members } = each;
    if (!this.#groups.get(members)?.has(each)) return;
    removeFrom(this.#groups, members, each);
    this.#changed.add(members);
    if (!this.#groups.has(members)) for (const key of each.policies) removeFrom(this.#groupsOf, key, members);
  }

  /** Its own group, and the groups whose rules are about it. */
  #touch(each: PodClass): void {
    if (localPods(each).next().done) this.#leaveGroup(each);
    if (this.#groups.has(each.members)) this.#changed.add(each.members);
    for (const { users } of each.peers) for (const key of users) this.#touchPolicy(key);
  }

  #touchPolicy(key: string): void {
    for (const members of this.#groupsOf.get(key) ?? []) this.#changed.add(members);
  }

  #peerSet(peer: PodPeer): PeerSet {
    const key = peerKey(peer);
    const known = this.#peers.get(key);
    if (known) return known;
    const made: PeerSet = { peer, classes: new Set(), users: new Set() };
    this.#peers.set(key, made);
    this.#unresolved.push({ peers: made, classes: this.#classes.values() });
    return made;
  }

  #leavePeers(policy: string, plan: PolicyPlan): void {
    for (const peer of peersOf(plan)) {
      const key = peerKey(peer);
      const peers = this.#peers.get(key);
      peers?.users.delete(policy);
      if (!peers || peers.users.size > 0) continue;
      this.#peers.delete(key);
      for (const each of peers.classes) each.peers.delete(peers);
    }
  }

  /** Whether the class belongs to the peer may have changed. */
  #compare(peers: PeerSet, each: PodClass): void {
    const belongs = peers.users.size > 0 && this.#belongs(peers.peer, each);
    if (belongs === peers.classes.has(each)) return;
    if (belongs) peers.classes.add(each);
    else peers.classes.delete(each);
    if (belongs) each.peers.add(peers);
    else each.peers.delete(peers);
    for (const key of peers.users) this.#touchPolicy(key);
  }

  #belongs({ namespaces, pods }: PodPeer, { namespace, labels }: PodClass): boolean {
    if (typeof namespaces === "string") return namespaces === namespace && matches(pods, labels);
    const own = this.#namespaces.get(namespace);
    return own !== undefined && matches(namespaces, own) && matches(pods, labels);
  }
}

function* localPods({ pods }: PodClass): Generator<ModelPod> {
  for (const pod of pods.values()) if (pod.isLocal) yield pod;
}

/** Every peer of a policy. Names of ports at the other end are looked up in all pods if the rule has no peers. */
function* peersOf({ rules }: PolicyPlan): Iterable<PodPeer> {
  for (const { peers, ports } of [...(rules.ingress ?? []), ...(rules.egress ?? [])]) {
    if (peers) yield* peers.pods;
    else if ((ports?.named.length ?? 0) > 0) yield everyPod;
  }
}

const classKey = (namespace: string, labels: Labels): string => `${namespace} ${labelsKey(labels)}`;
const membersText = (policies: Iterable<string>): string => [...policies].sort().join(" ");

function removeFrom<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key);
  set?.delete(value);
  if (set?.size === 0) map.delete(key);
}

function ensure<T>(map: Map<string, Set<T>>, key: string): Set<T> {
  let set = map.get(key);
  if (!set) {
    set = new Set();
    map.set(key, set);
  }
  return set;
}

const labelsKey = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
const peerKey = ({ namespaces, pods }: PodPeer): string => JSON.stringify([namespaces, sorted(pods)]);
const sorted = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): unknown => [
  labelsKey(matchLabels),
  matchExpressions,
];
/** The name of a group's chains and sets. */
const idOf = (members: string): string => createHash("sha256").update(members).digest("hex").slice(0, 32);
