import { Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Random, randomUid, systemRandom } from "#lib/data/random.ts";
import { type Informers } from "#runtime/informer.ts";
import { type AcrossNodes, type Rejection, rejectFinally } from "../framework.ts";
import { resourcesOf } from "../resources.ts";
import { type NodeInfo, type Snapshot } from "../snapshot.ts";
import { hasFailed } from "./binding-conditions.ts";
import { DeviceReservations } from "./device-reservations.ts";
import { type DeviceStock, openStock, type SharedStock } from "./device-stock.ts";
import { type ClassFor, classesOf } from "./extended/class-for.ts";
import {
  type ExtendedClaim,
  type ExtendedWants,
  extendedWantsOf,
  missingFrom,
  planExtendedClaim,
} from "./extended/extended-wants.ts";
import { deleteClaim } from "./extended/write-extended.ts";
import { type ClaimsToPlace, isUsable, type NodeResult, NodeResults } from "./node-results.ts";
import { hasResourceClaims, resourceClaimsOf } from "./pod-claims.ts";
import { renderAllocation } from "./search/render-allocation.ts";
import { type WantedClaim, wantedBy } from "./search/wanted.ts";
import { deallocate } from "./write-claim.ts";

export interface AllocatorDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  /** For the ids of shares. */
  readonly random?: Random;
  /** What several profiles share; by default one has its own. */
  readonly devices?: SharedStock;
  readonly limits?: DeviceLimits;
}

/** What the plugin's arguments decide. */
export interface DeviceLimits {
  /** The longest search on one node. */
  readonly stepsPerNode: number;
  /** How long a pod waits for devices to become ready. */
  readonly bindingTimeoutMs: number;
}

/** About 20 ms of work, and upstream's ten minutes. */
export const usualLimits: DeviceLimits = { stepsPerNode: 20_000, bindingTimeoutMs: 600_000 };

/** What is known about the claims of the pod that is being placed. */
interface Prepared {
  readonly refusal: Rejection | undefined;
  readonly claims: ClaimsToPlace;
  readonly nodes: Snapshot["nodes"];
  readonly extended: ExtendedWants | undefined;
  /** By what the nodes lack of the pod's extended resources: `""` if there is nothing that they lack. */
  readonly results: ReadonlyMap<string, NodeResults>;
}

const noClaims: ClaimsToPlace = { allocated: [], failed: [], wanted: [] };
const nothing = { claims: noClaims, nodes: [], extended: undefined, results: new Map<string, NodeResults>() };

const noneNeeded: NodeResult = { rejection: undefined, score: 0 };
const notLooked: NodeResult = { rejection: rejectFinally("timed out trying to allocate devices"), score: 0 };
const notOffered: NodeResult = { rejection: rejectFinally("cannot fit resource"), score: 0 };
const leftOver: NodeResult = { rejection: rejectFinally("cannot schedule extended resource claim"), score: 0 };
const cacheLimits = { entries: 64, chars: 4 << 20, keyChars: 64 << 10 };

/** Finds devices for the claims of pods, one pod after another, and stores them. */
export class DeviceAllocator {
  readonly #deps: AllocatorDeps;
  readonly #classFor: ClassFor;
  readonly #stock: DeviceStock;
  readonly #limits: DeviceLimits;
  /** By what the claims of a pod ask for. */
  readonly #results = new BoundedCache<NodeResults>(cacheLimits);
  /** What pods were given that are being bound. */
  readonly reservations: DeviceReservations;
  /** By the uid of the pod. Few are placed at the same time: one after another, and those that extenders are asked about. */
  readonly #prepared = new LruMap<string, Prepared>(64);

  private constructor(deps: AllocatorDeps, stock: DeviceStock) {
    this.#deps = deps;
    this.#classFor = classesOf(deps.informers);
    this.#limits = deps.limits ?? usualLimits;
    this.#stock = stock;
    this.reservations = new DeviceReservations(deps, stock.ledger);
  }

  static async open(deps: AllocatorDeps): Promise<DeviceAllocator> {
    return new DeviceAllocator(deps, await openStock(deps));
  }

  follow(): () => void {
    return this.#stock.follow();
  }

  /** Looks at all nodes, as far as the claims of the pod allow it. */
  async prepare(pod: Pod, snapshot: Snapshot): Promise<void> {
    const { uid } = pod.metadata;
    const found = this.#examine(pod);
    if (typeof found === "string") {
      this.#prepared.set(uid, { ...nothing, refusal: rejectFinally(found) });
      return;
    }
    const extended = this.#extendedOf(pod);
    const results = new Map<string, NodeResults>();
    const prepared = { refusal: undefined, claims: found, nodes: snapshot.nodes, extended, results };
    if (!extended) {
      if (hasResourceClaims(pod)) results.set("", await this.#look(pod, found, snapshot.nodes));
    } else if (!extended.stale) {
      for (const [key, nodes] of Map.groupBy(snapshot.nodes, (info) => variantOf(extended, info))) {
        const claims = key === undefined ? undefined : this.#claimsWith(pod, found, key);
        if (key !== undefined && claims) results.set(key, await this.#look(pod, claims, nodes));
      }
    }
    this.#prepared.set(uid, prepared);
  }

  async #look({ metadata }: Pod, claims: ClaimsToPlace, nodes: readonly NodeInfo[]): Promise<NodeResults> {
    const results = this.#resultsOf(claims);
    const { selectors, shares } = this.#stock;
    await selectors.compile(claims.wanted);
    const steps = shares.left(metadata.namespace);
    shares.spend(metadata.namespace, steps - (await results.refresh(nodes, steps)));
    return results;
  }

  refusalOf(pod: Pod): Rejection | undefined {
    const prepared = this.#preparedFor(pod);
    return prepared ? prepared.refusal : rejectFinally("the claims of the pod were not looked at yet");
  }

  across(pod: Pod, snapshot: Snapshot): AcrossNodes | undefined {
    const prepared = this.#preparedFor(pod);
    if (!prepared || prepared.refusal) return undefined;
    const resultAt = (slot: number) => resultOn(prepared, snapshot.at(slot));
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
    const extended = this.#extendedClaimOn(pod, node);
    const wanted = extended ? [...found.wanted, ...this.#wantedBy(extended)] : found.wanted;
    const picks = this.#resultsOf({ ...found, wanted }).find(node);
    if (!picks) throw new Error("the devices for the pod were taken meanwhile");
    const newUid = () => randomUid(random);
    const plain = this.#unallocatedOf(pod).map((claim) => ({ claim }));
    const given = [...plain, ...(extended ? [{ claim: extended.claim, extended }] : [])].map((one, at) => ({
      ...one,
      allocation: renderAllocation({ claim: one.claim, picks: picks[at] ?? [], node: nodeName, newUid }),
      written: undefined,
    }));
    for (const { claim, allocation } of given) this.#stock.ledger.decide(claim, allocation);
    const shared = found.allocated.map((claim) => ({ claim, allocation: undefined, written: undefined }));
    this.reservations.set(pod, [...given, ...shared]);
  }

  /** How to free a claim that is not usable on some node and that nobody else uses; undefined if there is none. */
  freeUnusable(pod: Pod): { message: string; run(signal: AbortSignal): Promise<void> } | undefined {
    const { claims, nodes, extended } = this.#preparedFor(pod) ?? nothing;
    const isUnusable = (claim: ResourceClaim): boolean =>
      claims.failed.includes(claim) || nodes.some(({ node }) => node && !isUsable(claim, node));
    const unusable = claims.allocated.find((claim) => isUnusable(claim) && isFor(claim, pod));
    if (unusable) {
      const message = "deallocation of ResourceClaim completed";
      return { message, run: (signal) => deallocate(this.#deps, unusable, signal) };
    }
    const stale = extended?.stale;
    const message = "deletion of ResourceClaim completed";
    return stale && { message, run: () => deleteClaim(this.#deps.client, stale) };
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
      if (this.#stock.ledger.isPending(claim))
        return `resource claim ${namespace}/${name} is in the process of being allocated`;
      if (claim.status.allocation) continue;
      const one = wantedBy(claim, (className) => informers.of(DeviceClass).get({ name: className }));
      if (typeof one === "string") return one;
      wanted.push(one);
    }
    const allocated = claims.filter(({ status }) => status.allocation);
    const isFailed = (claim: ResourceClaim) => hasFailed(claim, clock.now(), this.#limits.bindingTimeoutMs);
    return { allocated, wanted, failed: allocated.filter(isFailed) };
  }

  #extendedOf(pod: Pod): ExtendedWants | undefined {
    return extendedWantsOf(this.#deps.informers, this.#classFor, pod);
  }

  /** With what nodes of this variant lack; undefined if that leaves no claim at all. */
  #claimsWith(pod: Pod, claims: ClaimsToPlace, variant: string): ClaimsToPlace | undefined {
    if (variant === "") return hasResourceClaims(pod) ? claims : undefined;
    const planned = planExtendedClaim(pod, variant.split(" "), { classFor: this.#classFor });
    return { ...claims, wanted: [...claims.wanted, ...this.#wantedBy(planned)] };
  }

  /** The claim for what the node lacks of the pod's extended resources. */
  #extendedClaimOn(pod: Pod, node: Node): ExtendedClaim | undefined {
    const extended = this.#extendedOf(pod);
    if (!extended) return undefined;
    if (extended.stale) throw new Error("cannot schedule extended resource claim");
    const missing = missingFrom(extended, resourcesOf(node.status?.allocatable).scalar);
    if (!missing) throw new Error("cannot fit resource");
    if (missing.length === 0) return undefined;
    const uid = randomUid(this.#deps.random ?? systemRandom);
    return planExtendedClaim(pod, missing, { classFor: this.#classFor, uid });
  }

  #wantedBy({ claim }: ExtendedClaim): WantedClaim[] {
    const wanted = wantedBy(claim, (name) => this.#deps.informers.of(DeviceClass).get({ name }));
    if (typeof wanted === "string") throw new Error(wanted);
    return [wanted];
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
    const results = new NodeResults(this.#stock, claims, this.#limits.stepsPerNode);
    this.#results.set(key, results);
    return results;
  }
}

/** What a node lacks of the pod's extended resources; undefined if no claim can provide it. */
const variantOf = (extended: ExtendedWants, { allocatable }: NodeInfo): string | undefined =>
  missingFrom(extended, allocatable.scalar)?.join(" ");

function resultOn({ extended, results }: Prepared, info: NodeInfo | undefined): NodeResult {
  if (!info) return notLooked;
  const variant = extended ? variantOf(extended, info) : "";
  if (extended?.stale) return leftOver;
  if (variant === undefined) return notOffered;
  const found = results.get(variant);
  if (found) return found.of(info.name);
  return variant === "" ? noneNeeded : notLooked;
}

const isFor = ({ status: { reservedFor = [] } }: ResourceClaim, { metadata }: Pod): boolean =>
  reservedFor.every(({ uid }) => uid === metadata.uid) && reservedFor.length <= 1;
