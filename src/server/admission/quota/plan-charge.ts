import { type ResourceList } from "#api/core/container/resource-list.ts";
import { type ResourceQuota } from "#api/core/resource-quota.ts";
import {
  addQuantities,
  compareQuantities,
  isNegativeQuantity,
  isZeroQuantity,
  subtractQuantities,
} from "#api/meta/quantity.ts";
import {
  type Evaluator,
  isInScopes,
  limitsFor,
  type MeasuredWrite,
  scopesOf,
  type UsageContext,
} from "#api/quota/evaluator.ts";
import { own } from "#lib/data/own.ts";

/** A quota, and what is used once the writes before this one have happened. */
export interface RunningQuota {
  readonly quota: ResourceQuota;
  used: ResourceList;
}

export const runningQuota = (quota: ResourceQuota): RunningQuota => ({ quota, used: quota.status.used ?? {} });

/** What one write takes from one quota. */
export interface Charge {
  readonly name: string;
  readonly uid: string;
  readonly amounts: ResourceList;
}

export type ChargePlan =
  | { readonly type: "charge"; readonly charges: readonly Charge[] }
  /** In upstream's words. */
  | { readonly type: "refuse"; readonly why: string };

/** A write, and what it takes. */
export interface ChargedWrite extends MeasuredWrite {
  readonly evaluator: Evaluator;
  /** Without what is zero. */
  readonly usage: ResourceList;
  /** What an update takes in addition. */
  readonly added: ResourceList | undefined;
  /** The names of what is negative, sorted. */
  readonly negative: readonly string[];
}

/**
 * Measures a write. To be called once for each: what a claim takes depends on the claims that are being created, and once
 * it waits for its charge, it is one of them.
 */
export function chargedWrite(write: MeasuredWrite, evaluator: Evaluator, context: UsageContext): ChargedWrite {
  const { object, old } = write;
  const usage = evaluator.usage(object, context);
  const added = old && withoutZeros(growth(usage, evaluator.usage(old, context)));
  const negative = Object.keys(usage).filter((name) => isNegativeQuantity(usage[name] ?? "0"));
  return { ...write, evaluator, usage: withoutZeros(usage), added, negative: negative.sort() };
}

const withoutZeros = (amounts: ResourceList): ResourceList =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => !isZeroQuantity(amount)));

/** What an update takes in addition; a resource of which less is used is given back by the controller. */
function growth(now: ResourceList, before: ResourceList): ResourceList {
  const added: ResourceList = {};
  for (const name in now) {
    const more = subtractQuantities(now[name] ?? "0", own(before, name) ?? "0");
    if (!isNegativeQuantity(more)) added[name] = more;
  }
  return added;
}

/** What the write takes from each quota, or why it does not fit. Changes nothing. */
export function planCharge(write: ChargedWrite, quotas: readonly RunningQuota[]): ChargePlan {
  const { evaluator, object, negative } = write;
  const matching = quotas.filter(({ quota }) => isCountedBy(quota, evaluator, object));
  if (matching.length === 0) return none;
  for (const running of matching) {
    const why = faultOf(running, write);
    if (why) return { type: "refuse", why };
  }
  if (negative.length > 0) {
    return { type: "refuse", why: `quota usage is negative for resource(s): ${negative.join(",")}` };
  }
  return planAmounts(write, matching);
}

const none: ChargePlan = { type: "charge", charges: [] };

function planAmounts(write: ChargedWrite, matching: readonly RunningQuota[]): ChargePlan {
  const { evaluator, old, usage, added } = write;
  const charges: Charge[] = [];
  for (const running of matching) {
    const { quota } = running;
    // An object that comes into the scope of a quota is new to it.
    const taken = added && old && isCountedBy(quota, evaluator, old) ? added : usage;
    const amounts = limitedPart(taken, quota.status.hard ?? {});
    if (Object.keys(amounts).length === 0) continue;
    // What a controller observed is recorded, even if it is too much.
    const why = write.subresource === "status" ? undefined : excessOf(running, amounts);
    if (why) return { type: "refuse", why };
    const { name, uid } = quota.metadata;
    charges.push({ name, uid, amounts });
  }
  return { type: "charge", charges };
}

/** Whether the quota limits something that objects of the kind take. */
export const isLimiting = ({ status: { hard } }: ResourceQuota, evaluator: Evaluator): boolean =>
  hard !== undefined && limitsFor(evaluator, hard).length > 0;

/** The same for this object, which has to be in the scopes of the quota. */
const isCountedBy = (quota: ResourceQuota, evaluator: Evaluator, object: MeasuredWrite["object"]): boolean =>
  isLimiting(quota, evaluator) && isInScopes(evaluator, object, scopesOf(quota));

function faultOf({ quota, used }: RunningQuota, { evaluator, object }: ChargedWrite): string | undefined {
  const { name } = quota.metadata;
  const limited = limitsFor(evaluator, quota.status.hard ?? {});
  const fault = evaluator.fault?.(object, new Set(limited));
  if (fault) return `failed quota: ${name}: ${fault}`;
  const isKnown = limited.every((each) => own(used, each) !== undefined);
  return isKnown ? undefined : `status unknown for quota: ${name}, resources: ${limited.join(",")}`;
}

function limitedPart(amounts: ResourceList, hard: ResourceList): ResourceList {
  const limited: ResourceList = {};
  for (const [name, amount] of Object.entries(amounts)) {
    if (own(hard, name) !== undefined) limited[name] = amount;
  }
  return limited;
}

function excessOf({ quota, used }: RunningQuota, amounts: ResourceList): string | undefined {
  const hard = quota.status.hard ?? {};
  const exceeded = Object.keys(amounts).filter(
    (name) => compareQuantities(addQuantities(used[name] ?? "0", amounts[name] ?? "0"), hard[name] ?? "0") > 0,
  );
  if (exceeded.length === 0) return undefined;
  const shown = (list: ResourceList): string =>
    exceeded
      .sort()
      .map((name) => `${name}=${list[name] ?? "0"}`)
      .join(",");
  const { name } = quota.metadata;
  return `exceeded quota: ${name}, requested: ${shown(amounts)}, used: ${shown(used)}, limited: ${shown(hard)}`;
}

/** Adds the charge to what is used, or gives it back. The quota itself is shared, and is not changed. */
export function applyCharge(running: RunningQuota, { amounts }: Charge, direction: 1 | -1): void {
  if (running.used === running.quota.status.used) running.used = { ...running.used };
  for (const [name, amount] of Object.entries(amounts)) {
    const there = own(running.used, name) ?? "0";
    const sum = direction === 1 ? addQuantities(there, amount) : subtractQuantities(there, amount);
    running.used[name] = isNegativeQuantity(sum) ? "0" : sum;
  }
}
