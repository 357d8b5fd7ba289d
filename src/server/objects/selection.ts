import { parseFieldSelector } from "#api/meta/field-selector.ts";
import { parseLabelSelector, type Requirement } from "#api/meta/label-selector.ts";
import { fieldMatcher, labelMatcher } from "#api/meta/selector-matchers.ts";
import { type ApiObject, type FieldGetter, type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";

/** Which objects of a Resource a list or watch covers. Two with the same `key` select the same. */
export interface Selection {
  readonly key: string;
  /** "" for all namespaces. */
  readonly namespace: string;
  /** The only name that can match, if the selector requires one. */
  readonly name: string | undefined;
  /** A selectable field that must have one value: caches index these. */
  readonly field: { readonly path: string; readonly value: string } | undefined;
  /** What is asked of labels; none: anything goes. */
  readonly labels: readonly Requirement[];
  /** True when every object of the namespace matches. */
  readonly everything: boolean;
  matches(object: ApiObject): boolean;
}

export function select(
  resource: Resource,
  namespace: string,
  selectors: { readonly labelSelector?: string | undefined; readonly fieldSelector?: string | undefined } = {},
): Selection {
  const labels = selectors.labelSelector ? parseLabelSelector(selectors.labelSelector) : [];
  const fields = selectors.fieldSelector ? parseFieldSelector(selectors.fieldSelector) : [];
  for (const { path } of fields) getterOf(resource, path);
  const hasLabels = labels.length > 0 ? labelMatcher(labels) : undefined;
  const hasFields = fields.length > 0 ? fieldMatcher(fields) : undefined;
  const exact = (path: string): string | undefined =>
    fields.find((term) => term.path === path && term.operator === "=")?.value;
  const indexed = fields.find(
    ({ path, operator }) => operator === "=" && Object.hasOwn(resource.selectableFields, path),
  );
  return {
    key: JSON.stringify([namespace, selectors.labelSelector ?? "", selectors.fieldSelector ?? ""]),
    namespace: namespace || exact("metadata.namespace") || "",
    name: exact("metadata.name"),
    field: indexed && { path: indexed.path, value: indexed.value },
    labels,
    everything: labels.length === 0 && fields.length === 0,
    matches: (object) => {
      if (namespace && object.metadata.namespace !== namespace) return false;
      if (hasLabels && !hasLabels(object.metadata.labels ?? {})) return false;
      return !hasFields || hasFields((path) => getterOf(resource, path)(object) ?? "");
    },
  };
}

/** The getter of a selectable field; any other field is the client's mistake. */
export function getterOf(resource: Resource, path: string): FieldGetter<ApiObject> {
  if (path === "metadata.name") return (object) => object.metadata.name;
  const isCustom = resource.isJsonOnly === true;
  if (path === "metadata.namespace" && !(isCustom && resource.scope === "Cluster")) {
    return (object) => object.metadata.namespace;
  }
  const getter = Object.hasOwn(resource.selectableFields, path) && resource.selectableFields[path];
  if (!getter) {
    const hasOwn = Object.keys(resource.selectableFields).length > 0;
    throw badRequest(
      hasOwn || isCustom
        ? `field label not supported: ${path}`
        : `${JSON.stringify(path)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  return getter;
}
