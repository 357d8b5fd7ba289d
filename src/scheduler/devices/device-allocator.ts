import { Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type AllocationResult } from "#api/devices/claim-status.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Random, randomUid, systemRandom } from "#lib/data/random.ts";
import { type Informers } from "#runtime/informer.ts";
import { type AcrossNodes, type Rejection, rejectFinally } from "../framework.ts";
import { type Snapshot } from "../snapshot.ts";
import { hasConditions, hasFailed } from "./binding-conditions.ts";
import { DeviceLedger } from "./device-ledger.ts";
import { type ClaimsToPlace, isUsable, NodeResults } from "./node-results.ts";
import { isReservedFor, resourceClaimsOf } from "./pod-claims.ts";
import { renderAllocation } from "./search/render-allocation.ts";
import { type WantedClaim, wantedBy } from "./search/wanted.ts";
import { SelectorResults } from "./selector-results.ts";
import { deallocate, unreserve, writeClaim } from "./write-claim.ts";

export interface AllocatorDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  /** For the ids of shares. */
  readonly random?: Random;
}

/** What is known about the claims of the pod that is being placed. */
interface Prepared {
  readonly refusal: Rejection | undefined;
  readonly claims: ClaimsToPlace;
  readonly nodes: Snapshot["nodes"];
  readonly results: NodeResults | undefined;
}

/** What a pod was given, until it is bound. */
interface Reservation {
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult | undefined;
  written: ResourceClaim | undefined;
}

const noClaims: ClaimsToPlace = { allocated: [], failed: [], wanted: [] };
const cacheLimits = { entries: 64, chars: 4 << 20, keyChars: 64 << 10 };

/** Finds devices for the claims of pods, one pod after another, and stores them. */
export class DeviceAllocator {
  readonly #deps: AllocatorDeps;
  readonly #ledger: DeviceLedger;
  readonly #selectors = new SelectorResults();
  /** By what the claims of a pod ask for. */
  readonly #results = new BoundedCache<NodeResults>(cacheLimits);
  readonly #reservations = new Map<string, readonly Reservation[]>();
  /** By the uid of the pod. Few are placed at the same time: one after another, and those that extenders are asked about. */
  readonly #prepared = new LruMap<string, Prepared>(64);

  private constructor(deps: AllocatorDeps) {
    this.#deps = deps;
    this.#ledger = new DeviceLedger(deps.informers);
  }

  static async open(deps: AllocatorDeps): Promise<DeviceAllocator> {
    const { informers } = deps;
    const needed = [informers.of(ResourceSlice), informers.of(DeviceClass), informers.of(ResourceClaim)];
    await Promise.all(needed.map((informer) => informer.synced()));
    return new DeviceAllocator(deps);
  }

  follow(): () => void {
    return this.#ledger.follow();
  }

  /** Looks at all nodes, as far as the claims of the pod allow it. */
  async prepare(pod: Pod, snapshot: Snapshot): Promise<void> {
    const { uid } = pod.metadata;
    const found = this.#examine(pod);
    if (typeof found === "string") {
      this.#prepared.set(uid, { refusal: rejectFinally(found), claims: noClaims, nodes: [], results: undefined });
      return;
    }
    const results = this.#resultsOf(found);
    await results.refresh(snapshot.nodes);
    this.#prepared.set(uid, { refusal: undefined, claims: found, nodes: snapshot.nodes, results });
  }

  refusalOf(pod: Pod): Rejection | undefined {
    const prepared = this.#preparedFor(pod);
    return prepared ? prepared.refusal : rejectFinally("the claims of the pod were not looked at yet");
  }

  across(pod: Pod, snapshot: Snapshot): AcrossNodes | undefined {
    const results = this.#preparedFor(pod)?.results;
    if (!results) return undefined;
    const resultAt = (slot: number) => results.of(snapshot.at(slot)?.name ?? "");
    return {
      filter: (slot) => resultAt(slot).rejection,
      score(slots) {
        const scores = Float64Array.from(slots, (slot) => resultAt(slot).score);
        const best = scores.reduce((a, b) => Math.max(a, b), 0);
        return best === 0 ? scores : scores.map((score) => Math.floor((100 * score) / best));
      },
    };
  }

  /** Gives the pod its devices on a node, or throws. Nothing is stored yet. */
  reserve(pod: Pod, nodeName: string): void {
    const { informers, random = systemRandom } = this.#deps;
    const found = this.#examine(pod);
    if (typeof found === "string") throw new Error(found);
    const node = informers.of(Node).get({ name: nodeName });
    if (!node || !found.allocated.every((claim) => isUsable(claim, node))) {
      throw new Error("the claims of the pod have changed");
    }
    const picks = this.#resultsOf(found).find(node);
    if (!picks) throw new Error("the devices for the pod were taken meanwhile");
    const claims = this.#unallocatedOf(pod);
    const given = claims.map((claim, at) => ({
      claim,
      allocation: renderAllocation({ claim, picks: picks[at] ?? [], node: nodeName, newUid: () => randomUid(random) }),
      written: undefined,
    }));
    for (const { claim, allocation } of given) this.#ledger.decide(claim, allocation);
    const shared = found.allocated.map((claim) => ({ claim, allocation: undefined, written: undefined }));
    this.#reservations.set(pod.metadata.uid, [...given, ...shared]);
  }

  /** Stores what was reserved. */
  async store(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const reservation of this.#reservations.get(pod.metadata.uid) ?? []) {
      const { claim, allocation } = reservation;
      if (isReservedFor(claim, pod)) continue;
      reservation.written = await writeClaim(this.#deps, { claim, pod, allocation }, signal);
      this.#ledger.wrote(reservation.written);
    }
  }

  /** The stored claims of a pod whose devices have to become ready. */
  waitsFor(pod: Pod): ResourceClaim[] {
    const claims = this.#reservations.get(pod.metadata.uid)?.map(({ claim, written }) => written ?? claim) ?? [];
    return claims.filter(hasConditions);
  }

  /** The pod is bound. */
  done({ metadata }: Pod): void {
    this.#reservations.delete(metadata.uid);
  }

  async unreserve(pod: Pod): Promise<void> {
    const reservations = this.#reservations.get(pod.metadata.uid) ?? [];
    this.#reservations.delete(pod.metadata.uid);
    for (const { claim, allocation, written } of reservations) {
      if (allocation && !written) this.#ledger.takeBack(claim);
      if (written || isReservedFor(claim, pod)) await unreserve(this.#deps, claim, pod);
    }
  }

  /** How to free a claim that is not usable on some node and that nobody else uses; undefined if there is none. */
  freeUnusable(pod: Pod): ((signal: AbortSignal) => Promise<void>) | undefined {
    const { claims, nodes } = this.#preparedFor(pod) ?? { claims: noClaims, nodes: [] };
    const isUnusable = (claim: ResourceClaim): boolean =>
      claims.failed.includes(claim) || nodes.some(({ node }) => node && !isUsable(claim, node));
    const unusable = claims.allocated.find((claim) => isUnusable(claim) && isFor(claim, pod));
    return unusable && ((signal) => deallocate(this.#deps, unusable, signal));
  }

  #preparedFor({ metadata }: Pod): Prepared | undefined {
    return this.#prepared.get(metadata.uid);
  }

  /** What the claims of a pod mean, or upstream's reason why it can be placed nowhere. */
  #examine(pod: Pod): ClaimsToPlace | string {
    const { informers, clock } = this.#deps;
    const claims = resourceClaimsOf(informers, pod);
    if (typeof claims === "string") return claims;
    const wanted: WantedClaim[] = [];
    for (const claim of claims) {
      const { namespace, name } = claim.metadata;
      if (this.#ledger.isPending(claim))
        return `resource claim ${namespace}/${name} is in the process of being allocated`;
      if (claim.status.allocation) continue;
      const one = wantedBy(claim, (className) => informers.of(DeviceClass).get({ name: className }));
      if (typeof one === "string") return one;
      wanted.push(one);
    }
    const allocated = claims.filter(({ status }) => status.allocation);
    return { allocated, wanted, failed: allocated.filter((claim) => hasFailed(claim, clock.now())) };
  }

  #unallocatedOf(pod: Pod): ResourceClaim[] {
    const claims = resourceClaimsOf(this.#deps.informers, pod);
    return typeof claims === "string" ? [] : claims.filter(({ status }) => !status.allocation);
  }

  /** Pods whose claims ask for the same share what is known about nodes. */
  #resultsOf(claims: ClaimsToPlace): NodeResults {
    const { allocated, failed, wanted } = claims;
    const selectors = allocated.map(({ status }) => status.allocation?.nodeSelector);
    const key = JSON.stringify([selectors, failed.length, wanted.map(({ shape }) => shape)]);
    const known = this.#results.get(key);
    if (known) return known;
    const results = new NodeResults(this.#ledger, this.#selectors, claims);
    this.#results.set(key, results);
    return results;
  }
}

const isFor = ({ status: { reservedFor = [] } }: ResourceClaim, { metadata }: Pod): boolean =>
  reservedFor.every(({ uid }) => uid === metadata.uid) && reservedFor.length <= 1;
