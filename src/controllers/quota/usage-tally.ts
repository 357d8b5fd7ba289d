import { addTo, type ResourceList } from "#api/core/container/resource-list.ts";
import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { isNegativeQuantity, subtractQuantities } from "#api/meta/quantity.ts";
import {
  type Evaluator,
  isInScopes,
  limitsFor,
  type ScopeRequirement,
  scopesOf,
  type UsageContext,
} from "#api/quota/evaluator.ts";
import { evaluatorOf } from "#api/quota/evaluators.ts";
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
   * What each object was counted with, by uid. The usage of a pod depends on the time and that of a claim on other
   * objects, and what is subtracted must be what was added.
   */
  readonly #amounts = new Map<string, ResourceList>();
  /** Objects that are gone, but may still be added; undefined once all were. */
  #gone: Set<string> | undefined = new Set();
  #released: ResourceList = {};

  constructor(quota: ResourceQuota, evaluators: readonly Evaluator[]) {
    this.#scopes = scopesOf(quota);
    this.#limits = quota.spec.hard ?? {};
    for (const evaluator of evaluators) for (const name of limitsFor(evaluator, this.#limits)) this.counted[name] = "0";
  }

  /** Adds an object that existed before, unless a change has told of it already. */
  add(object: ApiObject, evaluator: Evaluator, context: UsageContext): void {
    const uid = uidOf(object);
    if (this.#amounts.has(uid) || this.#gone?.has(uid)) return;
    const amounts = this.#amountsOf(object, evaluator, context);
    this.#amounts.set(uid, amounts);
    addTo(this.counted, amounts);
    this.#setLapsed([object], evaluator, context);
  }

  /** All objects that existed before have been added. */
  complete(): void {
    this.#gone = undefined;
  }

  /** Takes a change into account. */
  take(change: Change<ApiObject>, evaluator: Evaluator, context: UsageContext): Moved {
    const last = change.type === "delete" ? change.object : change.previous;
    if (last) this.add(last, evaluator, context);
    const before = last ?? change.object;
    const hasLapsed = (evaluator.lapsed?.(before, context) ?? []).length > 0;
    // Whoever changes an object is charged for what it takes more, but not for what it takes over from a pod.
    const handover = hasLapsed ? this.takeAgain([before], evaluator, context) : unmoved;
    const moves: Move[] = [];
    if (last && (change.type === "delete" || uidOf(last) !== uidOf(change.object))) {
      moves.push(...this.#set(uidOf(last), undefined));
      this.#gone?.add(uidOf(last));
    }
    if (change.type === "put") {
      moves.push(...this.#set(uidOf(change.object), this.#amountsOf(change.object, evaluator, context)));
    }
    for (const { name, less, isMore } of moves) if (!isMore) addTo(this.#released, { [name]: less });
    const { raised, isReleased } = movedBy(moves);
    return { raised: [...handover.raised, ...raised], isReleased: handover.isReleased || isReleased };
  }

  /** Counts objects anew that take something else because of a change of another one. */
  takeAgain(objects: readonly ApiObject[], evaluator: Evaluator, context: UsageContext): Moved {
    const lapsed = this.#setLapsed(objects, evaluator, context);
    for (const { name, less } of lapsed) addTo(this.#released, { [name]: less });
    const moves = objects.flatMap((one) => this.#setKnown(one, evaluator, context));
    const total: ResourceList = {};
    for (const { name, less } of moves) addTo(total, { [name]: less });
    // What they take over from others stays in use. If they take less, it is not known whether the difference was ever
    // charged. The quota shows it when no charges are under way.
    for (const [name, less] of Object.entries(total))
      if (isNegativeQuantity(less)) addTo(this.#released, { [name]: less });
    return movedBy([...lapsed, ...moves]);
  }

  /** What was released since the last call, less what was taken over. To be put back if it could not be written. */
  takeReleased(): ResourceList {
    const released = this.#released;
    this.#released = {};
    return released;
  }
  putBack(released: ResourceList): void {
    addTo(this.#released, released);
  }

  /**
   * Counts anew what takes less by now of what these objects look up. A claim is measured as if its pod, which should be
   * gone, had not paid, so the pod must not count any longer.
   */
  #setLapsed(objects: readonly ApiObject[], evaluator: Evaluator, context: UsageContext): Move[] {
    const lapsed = objects.flatMap((one) => evaluator.lapsed?.(one, context) ?? []);
    return lapsed.flatMap(({ resource, object }) => this.#setKnown(object, evaluatorOf(resource), context));
  }

  #setKnown(object: ApiObject, evaluator: Evaluator, context: UsageContext): Move[] {
    const uid = uidOf(object);
    return this.#amounts.has(uid) ? this.#set(uid, this.#amountsOf(object, evaluator, context)) : [];
  }

  #set(uid: string, amounts: ResourceList | undefined): Move[] {
    const before = this.#amounts.get(uid) ?? {};
    if (amounts) this.#amounts.set(uid, amounts);
    else this.#amounts.delete(uid);
    return Object.keys({ ...before, ...amounts }).flatMap((name) => {
      const was = own(before, name) ?? "0";
      const is = (amounts && own(amounts, name)) ?? "0";
      if (was === is) return [];
      const less = subtractQuantities(was, is);
      this.counted[name] = subtractQuantities(this.counted[name] ?? "0", less);
      return [{ name, less, isMore: isNegativeQuantity(less) }];
    });
  }

  /** Nothing for an object outside of the quota's scopes. */
  #amountsOf(object: ApiObject, evaluator: Evaluator, context: UsageContext): ResourceList {
    const amounts: ResourceList = {};
    const usage = isInScopes(evaluator, object, this.#scopes) ? evaluator.usage(object, context) : {};
    for (const [name, amount] of Object.entries(usage)) {
      if (own(this.#limits, name) !== undefined) amounts[name] = amount;
    }
    return amounts;
  }
}

/** How the sum of one limit moved. */
interface Move {
  readonly name: string;
  readonly less: string;
  readonly isMore: boolean;
}

const unmoved: Moved = { raised: [], isReleased: false };

const movedBy = (moves: readonly Move[]): Moved => ({
  raised: moves.filter(({ isMore }) => isMore).map(({ name }) => name),
  isReleased: moves.some(({ isMore }) => !isMore),
});

const uidOf = ({ metadata }: ApiObject): string => metadata.uid ?? "";
