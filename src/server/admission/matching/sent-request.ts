import { type ApiObject, apiVersionOf, groupOf, type Resource } from "#api/resource.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type AdmissionRequest } from "../plugin.ts";

/** A request as its caller sent it. */
export interface SentRequest
  extends Pick<
    AdmissionRequest,
    | "operation"
    | "resource"
    | "subresource"
    | "namespace"
    | "name"
    | "object"
    | "oldObject"
    | "user"
    | "dryRun"
    | "signal"
  > {
  /** Such as `CreateOptions`; undefined for CONNECT. */
  readonly options: object | undefined;
}

/** How the Scale of an object is made. */
export type ScaleOf = (resource: Resource, object: ApiObject) => ApiObject;

/** The server writes some subresources as changes of the whole object; their callers sent something else. */
export function asSent(request: AdmissionRequest, scaleOf: ScaleOf): SentRequest {
  const { operation, resource, subresource, name, object, oldObject, user, dryRun, signal } = request;
  // As upstream, a Namespace is in itself.
  const namespace = resource.isNamespace ? name : request.namespace;
  const facts = { operation, resource, subresource, namespace, name, object, oldObject, user, dryRun, signal };
  const sent = { ...facts, options: request.options(operation) };
  if (subresource === "scale") {
    const scale = (whole: ApiObject | undefined) => whole && scaleOf(resource, whole);
    return { ...sent, object: scale(object), oldObject: scale(oldObject) };
  }
  if (subresource === "binding" && object) {
    const options = request.options("CREATE");
    return { ...sent, operation: "CREATE", object: bindingOf(object), oldObject: undefined, options };
  }
  return sent;
}

function bindingOf({ metadata: { name, namespace }, ...pod }: ApiObject & { spec?: { nodeName?: string } }): ApiObject {
  const target = { kind: "Node", name: pod.spec?.nodeName };
  return { kind: "Binding", apiVersion: "v1", metadata: { name, namespace }, target } as ApiObject;
}

export interface ObjectKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The kind of the objects of a request, which subresources may have their own of. */
export function kindOf({
  object,
  oldObject,
  resource,
}: Pick<SentRequest, "object" | "oldObject" | "resource">): ObjectKind {
  const { kind = resource.kind, apiVersion = apiVersionOf(resource) } = object ?? oldObject ?? {};
  const group = groupOf(apiVersion);
  return { group, version: apiVersion.slice(group ? group.length + 1 : 0), kind };
}

/** The same request in another version of its resource. Rejects if the objects cannot be converted. */
export async function inVersionOf(
  resources: ResourceRegistry,
  sent: SentRequest,
  resource: Resource,
): Promise<SentRequest> {
  if (resource === sent.resource) return sent;
  // A Scale or an Eviction is the same for all versions.
  if (kindOf(sent).kind !== sent.resource.kind) return { ...sent, resource };
  const convert = async (object: ApiObject | undefined) => {
    if (!object) return undefined;
    const converted = await resources.convert(sent.resource, object, apiVersionOf(resource));
    if (!converted) throw new Error(`${apiVersionOf(resource)} of ${resource.plural} is not served`);
    return converted.object;
  };
  const [object, oldObject] = await Promise.all([convert(sent.object), convert(sent.oldObject)]);
  return { ...sent, resource, object, oldObject };
}
