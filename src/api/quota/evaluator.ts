import { type ResourceList } from "#api/core/container/resource-list.ts";
import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { type ApiObject, groupResource, type Resource } from "#api/resource.ts";

/** A write that may take something from a quota. */
export interface MeasuredWrite<T extends ApiObject = ApiObject> {
  readonly operation: "CREATE" | "UPDATE";
  /** "" for the resource itself. */
  readonly subresource: string;
  readonly object: T;
  /** undefined for a new object. */
  readonly old: T | undefined;
}

/** Measures the objects of one kind for quotas. */
export interface Evaluator<T extends ApiObject = ApiObject> {
  /** Whether objects of this kind take from a limit of this name. */
  measures(name: string): boolean;
  /** Whether the write may take more than before. */
  isCharged(write: MeasuredWrite<T>): boolean;
  /** What the object takes, by the name of the limit. */
  usage(object: T, context: UsageContext): ResourceList;
  /** The kinds that `usage` looks up. */
  readonly influences?: readonly Influence[];
  /** Objects that `usage` looks up and that take less by now than before, although they have not changed. */
  lapsed?(object: T, context: UsageContext): readonly Lapsed[];
  /** Whether the object is in a scope. Objects of kinds without this are in none. */
  isInScope?(object: T, scope: ScopeRequirement): boolean;
  /** What the object lacks although a quota limits these names, in upstream's words. */
  fault?(object: T, names: ReadonlySet<string>): string | undefined;
}

/** What the usage of an object depends on besides the object. */
export interface UsageContext {
  readonly nowMs: number;
  readonly objects: ObjectLookup;
}

/** The objects of a cluster, as far as they are known. */
export interface ObjectLookup {
  of<T extends ApiObject>(resource: Resource<T>): KnownObjects<T>;
}
export interface KnownObjects<T extends ApiObject> {
  get(ref: { readonly namespace?: string | undefined; readonly name: string }): T | undefined;
  /** In the order in which they came under the key. */
  by(index: string, key: string): readonly T[];
}

export interface Lapsed {
  readonly resource: Pick<Resource, "group" | "plural">;
  readonly object: ApiObject;
}

/** A kind whose objects decide what those of another kind take. */
export interface Influence<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  /** The objects that may take something else after the change, at most a few, or all of their kind. */
  concerns(change: Influenced<T>, objects: ObjectLookup): readonly ApiObject[] | "all";
}
/** An object before and after a change; undefined if it did not exist. */
export interface Influenced<T extends ApiObject = ApiObject> {
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export type ScopeRequirement = NonNullable<
  NonNullable<ResourceQuota["spec"]["scopeSelector"]>["matchExpressions"]
>[number];

/** The name under which a quota limits the number of objects of a kind: `count/deployments.apps`. */
export const countName = (resource: Pick<Resource, "group" | "plural">): string =>
  `count/${groupResource(resource, resource.plural)}`;

const measuredLimits = new WeakMap<ResourceList, Map<Evaluator, readonly string[]>>();

/** The limits that objects of the kind take from, sorted. Versions of a quota share their limits. */
export function limitsFor(evaluator: Evaluator, hard: ResourceList): readonly string[] {
  const known = measuredLimits.get(hard) ?? new Map<Evaluator, readonly string[]>();
  measuredLimits.set(hard, known);
  let names = known.get(evaluator);
  if (!names) {
    names = Object.keys(hard)
      .filter((name) => evaluator.measures(name))
      .sort();
    known.set(evaluator, names);
  }
  return names;
}

/** Everything that an object must be for the quota to count it. */
export const scopesOf = ({ spec }: Pick<ResourceQuota, "spec">): ScopeRequirement[] => [
  ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
  ...(spec.scopeSelector?.matchExpressions ?? []),
];

/** Whether the object is in all of these scopes. */
export const isInScopes = (evaluator: Evaluator, object: ApiObject, scopes: readonly ScopeRequirement[]): boolean =>
  scopes.every((scope) => evaluator.isInScope?.(object, scope) ?? false);
