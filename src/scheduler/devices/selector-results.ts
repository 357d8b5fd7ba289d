import { type Device } from "#api/devices/device.ts";
import { type CompiledSelector, compileSelector } from "#cel-kubernetes/devices/compile-selector.ts";
import { matchDevice } from "#cel-kubernetes/devices/match-device.ts";
import { Slice } from "#lib/async/turns.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Budget, Unallocatable } from "./search/budget.ts";
import { type PoolDevice } from "./search/pool.ts";
import { type Alternative, type WantedClaim } from "./search/wanted.ts";

/** A selector, and what it said about devices. Devices that are gone take their results with them. */
interface Known {
  readonly compiled: CompiledSelector;
  readonly results: WeakMap<Device, boolean | string>;
}

const maxSelectors = 256;
/** Over all selectors. One result takes about 50 bytes. */
const maxResults = 1_000_000;
/** What costs an expression this much takes about as long as one step of the search. */
const costPerStep = 4;
const compileSteps = 50;
const compileStepsPerChar = 2;
/** Of all selectors of a pod. Most have a few hundred. */
const maxCompiledChars = 512 << 10;

/** Compiles selectors once, and asks them about each device once. */
export class SelectorResults {
  #known = new LruMap<string, Known>(maxSelectors);
  #count = 0;

  /** Throws Unallocatable for a selector that fails, and if the budget is spent. */
  matches({ device, driver, key }: PoolDevice, { selectors }: Pick<Alternative, "selectors">, budget: Budget): boolean {
    for (const { expression, origin } of selectors) {
      const known = this.#knownOf(expression, budget);
      let result = known.results.get(device);
      if (result === undefined) {
        if (known.compiled.fault)
          throw new Unallocatable(`${origin}: CEL compile error: ${known.compiled.fault.message}`);
        const { matches, error, cost } = matchDevice(known.compiled.program, {
          driver,
          device,
          maxCost: budget.left * costPerStep,
        });
        budget.spend(1 + cost / costPerStep);
        this.#remember();
        result = error ?? matches;
        known.results.set(device, result);
      }
      if (result === false) return false;
      if (result !== true) throw new Unallocatable(`${origin} on device ${key}: CEL runtime error: ${result}`);
    }
    return true;
  }

  /** Compiles what the claims need, so that the search need not: that takes up to 50 ms for a long expression. */
  async compile(claims: readonly WantedClaim[]): Promise<void> {
    const slice = new Slice();
    const ways = claims.flatMap(({ requests }) => requests.flatMap(({ alternatives }) => alternatives));
    const expressions = new Set(ways.flatMap(({ selectors }) => selectors.map(({ expression }) => expression)));
    let chars = 0;
    for (const expression of [...expressions].slice(0, maxSelectors)) {
      if (this.#known.get(expression)) continue;
      chars += expression.length;
      if (chars > maxCompiledChars) return;
      this.#knownOf(expression, undefined);
      if (slice.isOver) await slice.rest();
    }
  }

  #knownOf(expression: string, budget: Budget | undefined): Known {
    let known = this.#known.get(expression);
    if (!known) {
      budget?.spend(compileSteps + expression.length * compileStepsPerChar);
      known = { compiled: compileSelector(expression), results: new WeakMap() };
      this.#known.set(expression, known);
    }
    return known;
  }

  #remember(): void {
    if (++this.#count <= maxResults) return;
    this.#known = new LruMap(maxSelectors);
    this.#count = 0;
  }
}
