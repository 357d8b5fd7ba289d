import { addTo, type ResourceList } from "#api/core/container/resource-list.ts";
import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { isNegativeQuantity, subtractQuantities } from "#api/meta/quantity.ts";
import { type Evaluator, isInScopes, limitsFor, type ScopeRequirement, scopesOf } from "#api/quota/evaluator.ts";
import { type ApiObject } from "#api/resource.ts";
import { own } from "#lib/data/own.ts";
import { type Change } from "#runtime/informer.ts";

/** How a change moves the sums. */
export interface Moved {
  /** The limits of which more is used now. */
  readonly raised: readonly string[];
  readonly isReleased: boolean;
}

/** What the objects of a namespace use of the limits of one quota: counted once, then kept up to date by changes. */
export class UsageTally {
  /** The sum over all objects; complete once the existing objects have been added. */
  readonly counted: ResourceList = {};
  readonly #scopes: readonly ScopeRequirement[];
  readonly #limits: ResourceList;
  /**
   * What each object was counted with. The usage of a pod depends on the time, and what is subtracted must be what was
   * added.
   */
  readonly #amounts = new WeakMap<object, ResourceList>();
  #released: ResourceList = {};

  constructor(quota: ResourceQuota, evaluators: readonly Evaluator[]) {
    this.#scopes = scopesOf(quota);
    this.#limits = quota.spec.hard ?? {};
    for (const evaluator of evaluators) for (const name of limitsFor(evaluator, this.#limits)) this.counted[name] = "0";
  }

  /** Adds an object that existed before. */
  add(object: ApiObject, evaluator: Evaluator, nowMs: number): void {
    addTo(this.counted, this.#amountOf(object, evaluator, nowMs));
  }

  /** Takes a change into account. */
  take(change: Change<ApiObject>, evaluator: Evaluator, nowMs: number): Moved {
    const gone = change.type === "delete" ? change.object : change.previous;
    const before = gone ? this.#amountOf(gone, evaluator, nowMs) : {};
    const after = change.type === "delete" ? {} : this.#amountOf(change.object, evaluator, nowMs);
    const raised: string[] = [];
    let isReleased = false;
    for (const name of Object.keys({ ...before, ...after })) {
      const was = own(before, name) ?? "0";
      const is = own(after, name) ?? "0";
      if (was === is) continue;
      const less = subtractQuantities(was, is);
      this.counted[name] = subtractQuantities(this.counted[name] ?? "0", less);
      if (isNegativeQuantity(less)) raised.push(name);
      else {
        addTo(this.#released, { [name]: less });
        isReleased = true;
      }
    }
    return { raised, isReleased };
  }

  /** What was released since the last call. To be put back if it could not be written. */
  takeReleased(): ResourceList {
    const released = this.#released;
    this.#released = {};
    return released;
  }
  putBack(released: ResourceList): void {
    addTo(this.#released, released);
  }

  /** Nothing for an object outside of the quota's scopes. */
  #amountOf(object: ApiObject, evaluator: Evaluator, nowMs: number): ResourceList {
    let amounts = this.#amounts.get(object);
    if (!amounts) {
      amounts = {};
      const usage = isInScopes(evaluator, object, this.#scopes) ? evaluator.usage(object, nowMs) : {};
      for (const [name, amount] of Object.entries(usage)) {
        if (own(this.#limits, name) !== undefined) amounts[name] = amount;
      }
      this.#amounts.set(object, amounts);
    }
    return amounts;
  }
}
