import { type ApiObject, apiVersionOf, groupOf, type Resource } from "#api/resource.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type AdmissionRequest } from "../plugin.ts";

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A request as webhooks see it, in one version of its kind. */
export interface View {
  readonly operation: AdmissionRequest["operation"];
  /** The resource in this version. Its objects are `object` and `oldObject`, unless it is a subresource. */
  readonly resource: Resource;
  readonly kind: GroupVersionKind;
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
}

/** How the parts of a request are shown whose objects are not those of the API: the parts of other rooms. */
export interface ScaleViews {
  scaleOf(resource: Resource, object: ApiObject): ApiObject;
  setScale(resource: Resource, object: ApiObject, scale: ApiObject): void;
}

/** The request in the version that the caller used. */
export function viewOf(request: AdmissionRequest, { scaleOf }: ScaleViews): View {
  const { operation, resource, subresource, object, oldObject } = request;
  if (subresource === "scale") {
    const [scale, oldScale] = [object, oldObject].map((one) => one && scaleOf(resource, one));
    return { operation, resource, kind: kindOf(scale, resource), object: scale, oldObject: oldScale };
  }
  if (subresource === "binding" && object) {
    const binding = bindingOf(object);
    return { operation: "CREATE", resource, kind: kindOf(binding, resource), object: binding, oldObject: undefined };
  }
  return { operation, resource, kind: kindOf(object, resource), object, oldObject };
}

/** The server writes the pod; its caller sent a Binding. */
function bindingOf(pod: ApiObject): ApiObject {
  const { name, namespace } = pod.metadata;
  const { nodeName } = (pod as ApiObject & { spec?: { nodeName?: string } }).spec ?? {};
  const target = { kind: "Node", name: nodeName };
  return { kind: "Binding", apiVersion: "v1", metadata: { name, namespace }, target } as ApiObject;
}

function kindOf(object: ApiObject | undefined, resource: Resource): GroupVersionKind {
  const { kind = resource.kind, apiVersion = apiVersionOf(resource) } = object ?? {};
  const group = groupOf(apiVersion);
  return { group, version: apiVersion.slice(group ? group.length + 1 : 0), kind };
}

/** The same request in another version of the resource. */
export function viewIn(resources: ResourceRegistry, view: View, resource: Resource): View {
  if (resource === view.resource) return view;
  // A Scale or an Eviction is the same for all versions.
  if (view.object && view.object.kind !== view.resource.kind) return { ...view, resource };
  const convert = (object: ApiObject | undefined) =>
    object && resources.convert(view.resource, object, apiVersionOf(resource))?.object;
  const { group, version, kind } = resource;
  const [object, oldObject] = [convert(view.object), convert(view.oldObject)];
  return { operation: view.operation, resource, kind: { group, version, kind }, object, oldObject };
}

/** As upstream, a Namespace is in itself. */
export const namespaceOf = ({ resource, namespace, name }: AdmissionRequest): string =>
  resource.isNamespace ? name : namespace;
