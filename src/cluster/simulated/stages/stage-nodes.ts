import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import type { Informers } from "#runtime/informer.ts";
import { PodAddresses } from "./pod-addresses.ts";

/** The simulated nodes, as stages see them. */
export interface OwnNodes {
  /** Whether the node exists and is not stopped. */
  isRunning(name: string): boolean;
  addressOf(name: string): string | undefined;
  /** Calls back when a node starts. Returns how to end this. */
  subscribe(started: (name: string) => void): () => void;
}

/** Nodes that users create with this annotation are simulated too, as in kwok. */
export const isFake = (node: Node | undefined): boolean =>
  node?.metadata.annotations?.["kwok.x-k8s.io/node"] === "fake";

const fakeNodes = "172.31.0.0/16";
const podsWithoutRange = "10.127.0.0/16";

/** Which nodes the stages are about, and the addresses there. */
export class StageNodes {
  readonly #informers: Informers;
  readonly #own: OwnNodes;
  readonly #addresses = new PodAddresses();
  #knowsPods = false;

  constructor(informers: Informers, own: OwnNodes) {
    this.#informers = informers;
    this.#own = own;
  }

  isDriven(name: string | undefined): boolean {
    return name !== undefined && (this.#own.isRunning(name) || isFake(this.#get(name)));
  }

  podsOn(name: string): readonly Pod[] {
    return this.#informers
      .of(Pod)
      .list()
      .filter(({ spec }) => spec.nodeName === name);
  }

  /** The node's own addresses, the internal one first. A node that has none yet gets one. */
  ipsOf(name: string): readonly string[] {
    const node = this.#get(name);
    const addresses = node?.status.addresses ?? [];
    const ips = ["InternalIP", "ExternalIP"].flatMap((type) => addresses.filter((one) => one.type === type));
    if (ips[0]) return [ips[0].address];
    const own = this.#own.addressOf(name) ?? (node && this.#addresses.take(node.metadata.uid, fakeNodes, undefined));
    return own === undefined ? [] : [own];
  }

  podIps(name: string, uid: string, isOnHost: boolean): readonly string[] {
    if (isOnHost) return this.ipsOf(name);
    this.#keepKnown();
    const address = this.#addresses.take(uid, this.#rangeOf(name), undefined);
    return address === undefined ? [] : [address];
  }

  /** Calls back when a simulated node starts. Returns how to end this. */
  subscribe(started: (name: string) => void): () => void {
    return this.#own.subscribe(started);
  }

  release(uid: string): void {
    this.#addresses.release(uid);
  }

  /** Pods may have addresses from before this process. */
  #keepKnown(): void {
    if (this.#knowsPods) return;
    this.#knowsPods = true;
    for (const { metadata, spec, status } of this.#informers.of(Pod).list()) {
      if (status.podIP && spec.nodeName && !spec.hostNetwork) {
        this.#addresses.take(metadata.uid, this.#rangeOf(spec.nodeName), status.podIP);
      }
    }
  }

  #rangeOf(name: string): string {
    const { podCIDR, podCIDRs } = this.#get(name)?.spec ?? {};
    return podCIDRs?.[0] ?? podCIDR ?? podsWithoutRange;
  }

  #get(name: string): Node | undefined {
    return this.#informers.of(Node).get({ name });
  }
}
