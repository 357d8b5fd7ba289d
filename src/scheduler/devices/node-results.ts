import { type Node } from "#api/core/node.ts";
import { termMatches } from "#api/core/node-match.ts";
import { type ResourceClaim } from "#api/devices/resource-claim.ts";
import { Slice } from "#lib/async/turns.ts";
import { type Rejection, rejectFinally } from "../framework.ts";
import { type NodeInfo } from "../snapshot.ts";
import { type DeviceLedger } from "./device-ledger.ts";
import { type DeviceStock } from "./device-stock.ts";
import { Budget, Unallocatable } from "./search/budget.ts";
import { findDevices, type PickedDevice } from "./search/find-devices.ts";
import { isOnNode } from "./search/pool.ts";
import { type WantedClaim } from "./search/wanted.ts";
import { type SelectorResults } from "./selector-results.ts";

/** What the claims of a pod mean for its placement. */
export interface ClaimsToPlace {
  /** Claims that have their devices. */
  readonly allocated: readonly ResourceClaim[];
  /** Those of them that failed to become ready. They are usable nowhere. */
  readonly failed: readonly ResourceClaim[];
  /** Claims that get their devices with the node. */
  readonly wanted: readonly WantedClaim[];
}

export interface NodeResult {
  readonly rejection: Rejection | undefined;
  /** Higher if better alternatives were found. */
  readonly score: number;
}

const unavailable = { rejection: rejectFinally("resourceclaim not available on the node"), score: 0 };
const tooFew = { rejection: rejectFinally("cannot allocate all claims"), score: 0 };
const notTried = { rejection: rejectFinally("timed out trying to allocate devices"), score: 0 };

/** How often changes during an attempt are followed. What changes later is found out when devices are reserved. */
const maxRounds = 3;

/** What a node can do for pods whose claims are alike. Kept until devices or classes change. */
export class NodeResults {
  readonly #ledger: DeviceLedger;
  readonly #selectors: SelectorResults;
  readonly #claims: ClaimsToPlace;
  readonly #stepsPerNode: number;
  readonly #results = new Map<string, NodeResult>();
  #nodes: readonly NodeInfo[] = [];
  /** Whether the last attempt ended before it had looked at all nodes. The next one continues. */
  #isPartial = false;
  #epoch = -1;
  #version = 0;
  /** Nodes without devices of their own that reach the same shared ones get the same result. */
  #alike = new Map<string, NodeResult>();

  constructor(
    { ledger, selectors }: Pick<DeviceStock, "ledger" | "selectors">,
    claims: ClaimsToPlace,
    stepsPerNode: number,
  ) {
    this.#ledger = ledger;
    this.#selectors = selectors;
    this.#claims = claims;
    this.#stepsPerNode = stepsPerNode;
  }

  of(node: string): NodeResult {
    return this.#results.get(node) ?? notTried;
  }

  /** Looks at all nodes that have changed, as far as the steps suffice, and lets others work meanwhile. Returns what is left. */
  async refresh(nodes: readonly NodeInfo[], maxSteps: number): Promise<number> {
    const slice = new Slice();
    let left = maxSteps;
    for (let round = 0; round < maxRounds; round++) {
      const stale = this.#stale(nodes);
      if (stale.length === 0) return left;
      for (const { node } of stale) {
        if (!node) continue;
        const steps = Math.min(this.#stepsPerNode, left);
        const budget = new Budget(steps);
        const result = this.#look(node, budget);
        left -= steps - Math.max(budget.left, 0);
        // Only the rest of the steps was left for this node.
        this.#isPartial = budget.left < 0 && steps < this.#stepsPerNode;
        if (this.#isPartial) return left;
        this.#results.set(node.metadata.name, result);
        if (slice.isOver) await slice.rest();
      }
    }
    return left;
  }

  /** The devices that the claims would get on a node now. Throws Unallocatable. */
  find(node: Node, budget = new Budget(this.#stepsPerNode)): PickedDevice[][] | undefined {
    const { slices, used } = this.#ledger;
    budget.spend(slices.devicesNear(node) / 2);
    return findDevices({
      pools: slices.poolsOf(node),
      claims: this.#claims.wanted,
      used,
      budget,
      matches: (device, alternative) => this.#selectors.matches(device, alternative, budget),
    });
  }

  #stale(nodes: readonly NodeInfo[]): readonly NodeInfo[] {
    const { epoch, version } = this.#ledger;
    const isOld = epoch !== this.#epoch;
    if (isOld) this.#results.clear();
    const changed = isOld ? new Set<string>() : this.#ledger.changedSince(this.#version);
    const areSame = !isOld && nodes === this.#nodes && !this.#isPartial;
    for (const name of changed) this.#results.delete(name);
    this.#epoch = epoch;
    this.#version = version;
    this.#nodes = nodes;
    if (areSame && changed.size === 0) return [];
    this.#alike = new Map();
    return nodes.filter(({ name }) => (areSame ? changed.has(name) : !this.#results.has(name)));
  }

  #look(node: Node, budget: Budget): NodeResult {
    if (this.#claims.failed.length > 0 || !this.#claims.allocated.every((claim) => isUsable(claim, node))) {
      return unavailable;
    }
    const reach = this.#reachOf(node);
    const known = reach === undefined ? undefined : this.#alike.get(reach);
    if (known) return known;
    const result = this.#search(node, budget);
    if (reach !== undefined) this.#alike.set(reach, result);
    return result;
  }

  /** Which shared slices a node without devices of its own reaches; undefined if its devices are its own. */
  #reachOf(node: Node): string | undefined {
    const { slices } = this.#ledger;
    if (slices.hasOwn(node.metadata.name)) return undefined;
    const near = [...slices.shared].filter((one) => isOnNode(one, node));
    if (near.some(({ spec }) => spec.perDeviceNodeSelection)) return undefined;
    return near.map(({ metadata }) => metadata.name).join();
  }

  #search(node: Node, budget: Budget): NodeResult {
    try {
      const picks = this.find(node, budget);
      return picks ? { rejection: undefined, score: this.#scoreOf(picks) } : tooFew;
    } catch (error) {
      if (!(error instanceof Unallocatable)) throw error;
      return { rejection: rejectFinally(error.message), score: 0 };
    }
  }

  #scoreOf(picks: readonly (readonly PickedDevice[])[]): number {
    let score = 0;
    for (const [at, { requests }] of this.#claims.wanted.entries()) {
      const used = new Set(picks[at]?.map(({ alternative }) => alternative));
      for (const { alternatives } of requests) {
        const isChoice = alternatives[0]?.name.includes("/") ?? false;
        const chosen = alternatives.findIndex((one) => used.has(one));
        if (isChoice && chosen >= 0) score += maxAlternatives - chosen;
      }
    }
    return score;
  }
}

/** As upstream: the best of so many alternatives counts most. */
const maxAlternatives = 8;

export function isUsable({ status }: ResourceClaim, node: Node): boolean {
  const selector = status.allocation?.nodeSelector;
  return !selector || selector.nodeSelectorTerms.some((term) => termMatches(term, node));
}
