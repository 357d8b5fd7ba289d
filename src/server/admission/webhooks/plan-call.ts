import { Namespace } from "#api/core/namespace.ts";
import { isEmptySelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type ApiObject } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import { type Informer } from "#runtime/informer.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { matchRules } from "../matching/rules.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type Webhook } from "./hook.ts";
import { namespaceOf, type View, viewIn } from "./view.ts";

export interface MatchWorld {
  readonly resources: ResourceRegistry;
  readonly namespaces: Informer<Namespace>;
}

/** What is sent to a webhook, before its conditions are asked: a version of the request; undefined: nothing. */
export function planCall(world: MatchWorld, webhook: Webhook, request: AdmissionRequest, view: View): View | undefined {
  const { objectSelector } = webhook;
  const isSelected =
    isEmptySelector(objectSelector) ||
    hasLabels(objectSelector, view.object) ||
    hasLabels(objectSelector, view.oldObject);
  if (!isSelected) return undefined;
  const matched = versionFor(world, webhook, request, view);
  // A missing namespace is an error only for a webhook that would have been called.
  return matched && isInNamespaces(world, webhook, request) ? matched : undefined;
}

const hasLabels = (selector: Webhook["objectSelector"], object: ApiObject | undefined): boolean =>
  object !== undefined && matches(selector, object.metadata.labels);

/** The version that the caller used, or else the first equivalent one that a rule names. */
function versionFor(
  { resources }: MatchWorld,
  { rules, matchPolicy }: Webhook,
  request: AdmissionRequest,
  view: View,
): View | undefined {
  const { operation, resource } = view;
  const { subresource, name } = request;
  const subject = { operation, resource, subresource, name, namespace: namespaceOf(request) };
  const others = () => (matchPolicy === "Equivalent" ? resources.equivalents(resource) : []);
  const found = matchRules(rules ?? [], subject, others);
  return found && viewIn(resources, view, found);
}

/** What is in no namespace is never exempt. */
function isInNamespaces(world: MatchWorld, { namespaceSelector }: Webhook, request: AdmissionRequest): boolean {
  const name = namespaceOf(request);
  if ((name === "" && !request.resource.isNamespace) || isEmptySelector(namespaceSelector)) return true;
  return matches(namespaceSelector, namespaceLabels(world, request, name));
}

/** The cache does not have the labels that a request is about to write. */
function namespaceLabels({ namespaces }: MatchWorld, request: AdmissionRequest, name: string) {
  const { resource, subresource, operation, object } = request;
  const isWritten = resource.isNamespace && subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  const found = isWritten ? object : namespaces.get({ name });
  if (!found) throw notFound(Namespace, name);
  return found.metadata.labels;
}
