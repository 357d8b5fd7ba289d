import { Namespace } from "#api/core/namespace.ts";
import { isEmptySelector, type LabelSelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import { findNamespace, type NamespaceSource } from "../find-namespace.ts";
import { type MatchPolicy, type MatchRule, matchRules } from "./rules.ts";
import { type SentRequest } from "./sent-request.ts";

/** Which requests a webhook, a policy or a binding is about. */
export interface Criteria {
  /** Without rules, every resource matches. */
  readonly rules: readonly MatchRule[];
  readonly excluded?: readonly MatchRule[];
  readonly matchPolicy: MatchPolicy;
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly objectSelector?: LabelSelector | undefined;
}

/** What of a request decides whether it matches. */
type MatchedRequest = Omit<SentRequest, "user" | "dryRun" | "options">;

export interface MatchSources {
  readonly namespaces: NamespaceSource;
  /** The other versions and groups in which the same objects are served. */
  equivalents(resource: Resource): readonly Resource[];
}

/**
 * The resource by which a request matches: its own or an equivalent one, to which the objects are to be converted.
 * undefined if it does not match. Throws 404 if the namespace has to be looked at and does not exist.
 */
export function matchRequest(
  criteria: Criteria,
  request: MatchedRequest,
  sources: MatchSources,
): Resource | undefined | Promise<Resource | undefined> {
  const { rules, excluded = [], matchPolicy, objectSelector, namespaceSelector } = criteria;
  const others = () => (matchPolicy === "Exact" ? [] : sources.equivalents(request.resource));
  if (excluded.length > 0 && matchRules(excluded, request, others)) return undefined;
  const resource = rules.length === 0 ? request.resource : matchRules(rules, request, others);
  if (!resource || !selectsObject(objectSelector, request)) return undefined;
  // Last, because only this may have to wait.
  const selected = selectsNamespace(namespaceSelector, request, sources.namespaces);
  if (typeof selected === "boolean") return selected ? resource : undefined;
  return selected.then((isSelected) => (isSelected ? resource : undefined));
}

/** It is enough if the object is selected as it was or as it will be. */
function selectsObject(selector: LabelSelector | undefined, { object, oldObject }: MatchedRequest): boolean {
  if (!selector || isEmptySelector(selector)) return true;
  const isSelected = (one: ApiObject | undefined) => one !== undefined && matches(selector, one.metadata?.labels);
  return isSelected(object) || isSelected(oldObject);
}

/** A namespace counts as in itself. All other objects outside of namespaces are always selected. */
function selectsNamespace(
  selector: LabelSelector | undefined,
  request: MatchedRequest,
  source: NamespaceSource,
): boolean | Promise<boolean> {
  const { resource, operation, object, subresource } = request;
  if (!selector || isEmptySelector(selector)) return true;
  if (request.namespace === "" && !resource.isNamespace) return true;
  // A namespace that is being written is not in the cache in its new form.
  const isWritten = subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  if (resource.isNamespace && isWritten) return matches(selector, object?.metadata.labels);
  const namespace = request.namespace || request.name;
  const found = findNamespace(source, request, namespace);
  if (found instanceof Promise) return found.then(({ metadata }) => matches(selector, metadata.labels));
  if (!found) throw notFound(Namespace, namespace);
  return matches(selector, found.metadata.labels);
}
