import { toleratesDeviceTaint } from "#api/devices/device-taint.ts";
import { type Budget, Unallocatable } from "./budget.ts";
import { type Constraint } from "./constraints.ts";
import { CounterBook } from "./counter-book.ts";
import { amountsOf, type Pool, type PoolDevice } from "./pool.ts";
import { partsOf, planShare, type Share } from "./share.ts";
import { type UsedDevices } from "./used-devices.ts";
import { type Alternative, type WantedClaim } from "./wanted.ts";

export interface SearchInput {
  /** What the node can use, in the order in which it is tried. */
  readonly pools: readonly Pool[];
  readonly claims: readonly WantedClaim[];
  readonly used: UsedDevices;
  readonly budget: Budget;
  /** Throws Unallocatable if it cannot be told. */
  matches(device: PoolDevice, alternative: Alternative): boolean;
}

/** A device for a request. `share` is set if others can use it too. */
export interface PickedDevice {
  readonly alternative: Alternative;
  readonly device: PoolDevice;
  readonly share: Share | undefined;
}

/** The devices of each claim, or undefined if there are too few. Throws Unallocatable. */
export function findDevices(input: SearchInput): PickedDevice[][] | undefined {
  const picks = new Search(input).run();
  if (!picks && input.pools.some(({ problem }) => problem === "invalid")) {
    throw new Unallocatable("invalid resource pools were encountered");
  }
  return picks;
}

/** As upstream: a claim has at most so many devices. */
const maxDevices = 32;

/** A device that suits a request for itself. */
interface Candidate {
  readonly device: PoolDevice;
  /** What the request takes of it, if others can use it too. */
  readonly share: Share | undefined;
  readonly isTolerated: boolean;
}

/** A place in the search: the nth device of a request, and where to continue looking for it. */
interface Choice {
  readonly claim: number;
  readonly request: number;
  readonly nth: number;
  alternative: number;
  at: number;
  undo: (() => void) | undefined;
}

/** Tries devices in order and goes back where that leads nowhere. The stack is explicit, as users decide how deep it gets. */
class Search {
  readonly #input: SearchInput;
  readonly #constraints: readonly Constraint[][];
  readonly #picks: PickedDevice[][];
  readonly #counters: CounterBook;
  readonly #candidates = new Map<Alternative, readonly Candidate[]>();
  /** Devices that nobody else can use now → the claims that have them. */
  readonly #taken = new Map<string, Set<number>>();
  readonly #shares = new Map<string, { count: number; readonly taken: Map<string, bigint> }>();

  constructor(input: SearchInput) {
    this.#input = input;
    this.#constraints = input.claims.map((claim) => claim.createConstraints());
    this.#picks = input.claims.map(() => []);
    this.#counters = new CounterBook(input.used, input.budget);
  }

  run(): PickedDevice[][] | undefined {
    for (const { requests } of this.#input.claims) {
      const least = requests.reduce((sum, one) => sum + Math.min(...one.alternatives.map((way) => this.#need(way))), 0);
      if (least > maxDevices) {
        throw new Unallocatable(`number of requested devices ${least} exceeds the claim limit of ${maxDevices}`);
      }
    }
    const first = this.#start(0, 0);
    if (!first) return this.#picks;
    const stack = [first];
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      top.undo?.();
      top.undo = this.#next(top);
      if (!top.undo) {
        stack.pop();
        continue;
      }
      const following = this.#following(top);
      if (!following) return this.#picks;
      stack.push(following);
    }
    return undefined;
  }

  #start(claim: number, request: number): Choice | undefined {
    for (let at = claim; at < this.#input.claims.length; at++) {
      const from = at === claim ? request : 0;
      if (from < (this.#input.claims[at]?.requests.length ?? 0)) {
        return { claim: at, request: from, nth: 0, alternative: 0, at: 0, undo: undefined };
      }
    }
    return undefined;
  }

  #following(choice: Choice): Choice | undefined {
    const { claim, request, nth, alternative, at } = choice;
    const way = this.#waysOf(choice)[alternative];
    if (way && nth + 1 < this.#need(way)) {
      return { claim, request, nth: nth + 1, alternative, at: way.count === undefined ? 0 : at, undo: undefined };
    }
    return this.#start(claim, request + 1);
  }

  #waysOf({ claim, request }: Choice): readonly Alternative[] {
    return this.#input.claims[claim]?.requests[request]?.alternatives ?? [];
  }

  #need(way: Alternative): number {
    return way.count ?? this.#candidatesOf(way).length;
  }

  /** Takes the next device that is possible at this place. Returns how to give it back; undefined if there is none. */
  #next(choice: Choice): (() => void) | undefined {
    const ways = this.#waysOf(choice);
    for (; choice.alternative < ways.length; choice.alternative++, choice.at = 0) {
      const way = ways[choice.alternative];
      const undo = way && this.#nextOf(choice, way);
      if (undo) return undo;
      // The first device decides on the alternative, the others follow it.
      if (choice.nth > 0) return undefined;
    }
    return undefined;
  }

  #nextOf(choice: Choice, way: Alternative): (() => void) | undefined {
    const candidates = this.#candidatesOf(way);
    const missing = this.#need(way) - choice.nth;
    const picks = this.#picks[choice.claim] ?? [];
    if (candidates.length === 0 || picks.length + missing > maxDevices) return undefined;
    if (way.count === undefined) {
      const only = choice.at++ === 0 ? candidates[choice.nth] : undefined;
      return only && this.#take(choice.claim, way, only);
    }
    while (choice.at + missing <= candidates.length) {
      const next = candidates[choice.at++];
      const undo = next && this.#take(choice.claim, way, next);
      if (undo) return undo;
    }
    return undefined;
  }

  /** Devices that suit a request for themselves. If it wants all of them, also those that are in use, as it then fails. */
  #candidatesOf(way: Alternative): readonly Candidate[] {
    const known = this.#candidates.get(way);
    if (known) return known;
    const { pools, used, budget, matches } = this.#input;
    const wantsAll = way.count === undefined;
    const found: Candidate[] = [];
    for (const { devices, problem, name } of pools) {
      if (wantsAll && problem) throw new Unallocatable(notNow(way, name, problem));
      for (const one of devices) {
        budget.spend(1);
        const isFree = way.isForAdmin || !used.isTaken(one.key);
        const tolerated = isTolerated(one, way, budget);
        if (!wantsAll && !(isFree && tolerated)) continue;
        budget.spendParts(partsOf(one.device));
        const share = planShare(one.device, way.capacity);
        if (!share || !matches(one, way)) continue;
        const isShared = one.device.allowMultipleAllocations === true;
        found.push({ device: one, share: isShared ? share : undefined, isTolerated: tolerated });
      }
    }
    this.#candidates.set(way, found);
    return found;
  }

  #take(claim: number, way: Alternative, candidate: Candidate): (() => void) | undefined {
    const { budget, used } = this.#input;
    const { device, share } = candidate;
    budget.spend(1);
    const takers = this.#taken.get(device.key);
    if (way.isForAdmin ? takers?.has(claim) : takers || used.isTaken(device.key)) return undefined;
    if (!candidate.isTolerated || (share && !this.#hasLeft(device, share))) return undefined;
    const isCounted = !(share && (used.isShared(device.key) || this.#shares.has(device.key)));
    if (isCounted && !this.#counters.add(device)) return undefined;
    const added = this.#constrain(claim, way, device);
    if (!added) {
      if (isCounted) this.#counters.remove(device);
      return undefined;
    }
    this.#picks[claim]?.push({ alternative: way, device, share });
    const release = share ? this.#addShare(device.key, share) : this.#occupy(device.key, claim);
    return () => {
      release();
      this.#picks[claim]?.pop();
      for (const constraint of added) constraint.remove(device);
      if (isCounted) this.#counters.remove(device);
    };
  }

  /** Adds the device to all constraints of the request, or to none and returns undefined. */
  #constrain(claim: number, way: Alternative, device: PoolDevice): readonly Constraint[] | undefined {
    const added: Constraint[] = [];
    for (const constraint of this.#constraints[claim] ?? []) {
      this.#input.budget.spendParts(1);
      if (!constraint.concerns(way.name)) continue;
      if (!constraint.add(device)) {
        for (const one of added) one.remove(device);
        return undefined;
      }
      added.push(constraint);
    }
    return added;
  }

  #hasLeft({ key, device }: PoolDevice, share: Share): boolean {
    const { used, budget } = this.#input;
    budget.spendParts(share.size);
    const mine = this.#shares.get(key)?.taken;
    const has = amountsOf(device.capacity ?? {});
    return share
      .entries()
      .every(([name, { nanos }]) => used.takenOf(key, name) + (mine?.get(name) ?? 0n) + nanos <= (has.get(name) ?? 0n));
  }

  #addShare(key: string, share: Share): () => void {
    const shares = this.#shares.get(key) ?? { count: 0, taken: new Map<string, bigint>() };
    this.#shares.set(key, shares);
    shares.count++;
    for (const [name, { nanos }] of share) shares.taken.set(name, (shares.taken.get(name) ?? 0n) + nanos);
    return () => {
      for (const [name, { nanos }] of share) shares.taken.set(name, (shares.taken.get(name) ?? 0n) - nanos);
      if (--shares.count === 0) this.#shares.delete(key);
    };
  }

  #occupy(key: string, claim: number): () => void {
    const takers = this.#taken.get(key) ?? new Set();
    this.#taken.set(key, takers.add(claim));
    return () => {
      takers.delete(claim);
      if (takers.size === 0) this.#taken.delete(key);
    };
  }
}

function isTolerated({ device }: PoolDevice, { tolerations = [] }: Alternative, budget: Budget): boolean {
  const { taints = [] } = device;
  budget.spendParts(taints.length * tolerations.length);
  return taints.every(
    (taint) => taint.effect === "None" || tolerations.some((one) => toleratesDeviceTaint(one, taint)),
  );
}

function notNow({ name }: Alternative, pool: string, problem: "incomplete" | "invalid"): string {
  const why = problem === "incomplete" ? "being updated" : "invalid";
  return `request ${name}: asks for all devices, but resource pool ${pool} is currently ${why}`;
}
