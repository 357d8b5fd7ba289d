import { Namespace } from "#api/core/namespace.ts";
import { lastingContainers } from "#api/core/pod/pod-containers.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { configSourceAnnotation } from "#api/well-known.ts";
import { type Informers } from "#runtime/informer.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { parseAddress, parsePort, parseProtocol } from "../parse-values.ts";
import { type Fragment } from "../rule-table.ts";
import { SizeBudget } from "../size-budget.ts";
import { maxPolicySize, type PolicyPlan, parsePolicy, policySize } from "./parse-policy.ts";
import { type ModelPod, PolicyModel } from "./policy-model.ts";
import { renderGroup } from "./render-policy.ts";

export interface NetworkPolicyDeps {
  readonly informers: Informers;
  readonly nodeName: string;
  readonly family: "ip" | "ip6";
  /** Whether packets between pods on this node's bridge pass the rules. */
  readonly bridgeIsFiltered: boolean;
  /** Called when there is something to plan. */
  onChange(): void;
  report(policy: NetworkPolicy, faults: readonly string[]): void;
}

/** For all policies of a namespace together, each of which counts for at least 20. */
const maxNamespaceSize = 10 * maxPolicySize;
const minPolicySize = 20;

/**
 * Keeps the rules for NetworkPolicies. A cluster without policies pays for none: pods and namespaces are followed from the
 * first policy on.
 */
export class NetworkPolicies {
  readonly #deps: NetworkPolicyDeps;
  readonly #model = new PolicyModel();
  readonly #policies;
  readonly #budget = new SizeBudget(maxNamespaceSize);
  /** Policies to read again: they have changed, or others of their namespace have made room. */
  readonly #dirty = new Set<string>();
  readonly #unsubscribe: (() => void)[] = [];
  #followsPods = false;
  /** Addresses of new pods, which their status does not have yet. */
  readonly #expected = new Map<string, { readonly uid: string; readonly addresses: readonly string[] }>();

  constructor(deps: NetworkPolicyDeps) {
    this.#deps = deps;
    this.#policies = deps.informers.of(NetworkPolicy);
  }

  /** All informers must be synced. */
  start(): void {
    this.#unsubscribe.push(
      this.#policies.subscribe(({ object: { metadata } }) => {
        this.#followPods();
        this.#dirty.add(`${metadata.namespace}/${metadata.name}`);
        this.#deps.onChange();
      }),
    );
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** A new pod has these addresses. Returns whether policies may restrict it, once the changes are planned. */
  expect(pod: Pod, addresses: readonly string[]): boolean {
    if (!this.#followsPods) return false;
    const key = keyOf(pod);
    if (this.#isGone(pod)) throw new Error(`pod ${key} does not exist any more`);
    this.#expected.set(key, { uid: pod.metadata.uid, addresses });
    this.#model.putPod(key, this.#podOf(pod));
    return this.#dirty.size > 0 || this.#model.isSelected(key);
  }

  /** Nobody would take back the address of such a pod. */
  #isGone({ metadata }: Pod): boolean {
    const pods = this.#deps.informers.of(Pod);
    const isStatic = metadata.annotations?.[configSourceAnnotation] !== undefined;
    // The API may not have a static pod yet, and this cache may be behind that of the kubelet.
    if (isStatic || pods.revision < revisionOf(metadata.resourceVersion)) return false;
    return pods.get(metadata)?.metadata.uid !== metadata.uid;
  }

  get hasChanges(): boolean {
    return this.#dirty.size > 0 || this.#model.hasChanges;
  }

  /** Plans what has changed, and passes on the rules of each group. `pause` lets other work run. */
  async plan(set: (owner: string, fragment: Fragment | undefined) => void, pause: () => Promise<void>): Promise<void> {
    for (const key of this.#dirty) {
      this.#dirty.delete(key);
      this.#read(key);
      await pause();
    }
    while (this.#model.resolveNext()) await pause();
    for (const [id, group] of this.#model.takeChanges()) {
      set(groupOwner(id), group && renderGroup(this.#deps.family, group, { allows: true }));
      await pause();
    }
  }

  /** The rules of a group as it is now. */
  groupRules(owner: string): Fragment | undefined {
    const group = this.#model.group(owner.slice(groupOwner("").length));
    return group && renderGroup(this.#deps.family, group, { allows: true });
  }

  /** The kernel refuses the group's rules, so its pods are isolated until that is tried again. */
  isolate(owner: string): Fragment | undefined {
    const group = this.#model.group(owner.slice(groupOwner("").length));
    for (const key of group?.members ?? []) {
      const [namespace = "", name = ""] = key.split("/");
      const policy = this.#policies.get({ namespace, name });
      if (policy) this.#deps.report(policy, ["its pods are isolated: the kernel refuses the rules"]);
    }
    return group && renderGroup(this.#deps.family, group, { allows: false });
  }

  #followPods(): void {
    if (this.#followsPods) return;
    this.#followsPods = true;
    const { informers } = this.#deps;
    this.#unsubscribe.push(
      informers.of(Namespace).subscribe(({ type, object: { metadata } }) => {
        this.#model.putNamespace(metadata.name, type === "put" ? (metadata.labels ?? {}) : undefined);
        if (this.#model.hasChanges) this.#deps.onChange();
      }),
      informers.of(Pod).subscribe(({ type, object }) => {
        if (type === "delete" || object.status.podIPs) this.#expected.delete(keyOf(object));
        this.#model.putPod(keyOf(object), type === "put" ? this.#podOf(object) : undefined);
        if (this.#model.hasChanges) this.#deps.onChange();
      }),
    );
  }

  #read(key: string): void {
    const [namespace = "", name = ""] = key.split("/");
    const policy = this.#policies.get({ namespace, name });
    const before = this.#budget.sizeOf(key);
    const fits = this.#budget.fits(key, policy ? Math.max(policySize(policy), minPolicySize) : 0);
    if (this.#budget.sizeOf(key) < before) this.#useRoom(key, namespace);
    if (!policy) return this.#model.putPolicy(key, undefined);
    const plan = parsePolicy(policy, this.#deps.family === "ip" ? "IPv4" : "IPv6");
    const kept = fits ? plan : allowingNothing(plan);
    this.#model.putPolicy(key, kept);
    this.#deps.report(policy, [...kept.faults, ...(this.#deps.bridgeIsFiltered ? [] : [notFiltered])]);
  }

  /** A policy takes less, so others of its namespace may fit. */
  #useRoom(key: string, namespace: string): void {
    for (const other of this.#budget.crowded) {
      if (other !== key && other.startsWith(`${namespace}/`)) this.#dirty.add(other);
    }
  }

  /** Pods on the network of their node cannot be told from the node. */
  #podOf(pod: Pod): ModelPod | undefined {
    const { metadata, spec, status } = pod;
    const family = this.#deps.family === "ip" ? "IPv4" : "IPv6";
    const expected = this.#expected.get(keyOf(pod));
    const addresses = expected?.uid === metadata.uid ? expected.addresses : (status.podIPs ?? []).map(({ ip }) => ip);
    const [address] = addresses.flatMap((text) => parseAddress(text, family) ?? []);
    if (!address || spec.hostNetwork || isFinished({ status })) return undefined;
    return {
      namespace: metadata.namespace,
      labels: metadata.labels ?? {},
      isLocal: spec.nodeName === this.#deps.nodeName,
      address,
      ports: namedPorts(spec),
    };
  }
}

const notFiltered =
  "traffic between pods of one node is not restricted: the node's kernel has no bridge filter (module br_netfilter)";

/** No service's or pod's owner begins like this. */
const groupOwner = (id: string): string => `policies ${id}`;
export const isGroupOwner = (owner: string): boolean => owner.startsWith(groupOwner(""));

const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;

const allowingNothing = (plan: PolicyPlan): PolicyPlan => ({
  ...plan,
  rules: Object.fromEntries(Object.keys(plan.rules).map((direction) => [direction, []])),
  faults: [`the policy allows nothing: those of its namespace have more than ${maxNamespaceSize} peers and ports`],
});

/** A pod with more names gets only the first ones. */
const maxNamedPorts = 200;

function namedPorts(spec: Pod["spec"]): ModelPod["ports"] {
  const found: { name: string; protocol: string; port: number }[] = [];
  for (const container of lastingContainers(spec)) {
    for (const { name, containerPort, protocol: text } of container.ports ?? []) {
      const [port, protocol] = [parsePort(containerPort), parseProtocol(text)];
      if (!name || !port || !protocol) continue;
      if (found.length >= maxNamedPorts) return found;
      found.push({ name, protocol, port });
    }
  }
  return found;
}
