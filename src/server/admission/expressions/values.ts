import { type Namespace } from "#api/core/namespace.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { dynType } from "#cel/types/type.ts";
import { valueFor } from "#cel/values/data.ts";
import { type Value } from "#cel/values/value.ts";
import { type AccessCheck, authorizerValue, requestResourceValue } from "#cel-kubernetes/authorizer.ts";
import { kindOf, type SentRequest } from "../matching/sent-request.ts";
import { namespaceType, requestType } from "./environment.ts";

export interface Facts {
  /** The request in the version that matched. */
  readonly request: SentRequest;
  /** The request in the version that the caller used. */
  readonly sent: SentRequest;
  readonly namespace?: Namespace | undefined;
  readonly params?: ApiObject | undefined;
  readonly access?: AccessCheck | undefined;
}

/** What an expression sees of a request. Nothing is copied: an expression that does not use a part does not pay for it. */
export function valuesOf({ request, sent, namespace, params, access }: Facts): ReadonlyMap<string, Value> {
  const values = new Map<string, Value>([
    ["object", valueFor(dynType, request.object)],
    ["oldObject", valueFor(dynType, request.oldObject)],
    ["request", valueFor(requestType, describe(request, sent))],
    ["namespaceObject", valueFor(namespaceType, namespace)],
    ["params", valueFor(dynType, params)],
  ]);
  if (access) {
    values.set("authorizer", authorizerValue(access));
    values.set("authorizer.requestResource", requestResourceValue(access, questionAbout(sent)));
  }
  return values;
}

function describe(request: SentRequest, sent: SentRequest): object {
  const { subresource, name, namespace, operation, user, dryRun, options } = request;
  return {
    kind: kindOf(request),
    resource: resourceOf(request.resource),
    ...(subresource ? { subResource: subresource } : {}),
    requestKind: kindOf(sent),
    requestResource: resourceOf(sent.resource),
    ...(subresource ? { requestSubResource: subresource } : {}),
    name,
    ...(namespace ? { namespace } : {}),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      ...(user.groups.length > 0 ? { groups: user.groups } : {}),
      ...(user.extra ? { extra: user.extra } : {}),
    },
    dryRun,
    ...(options ? { options } : {}),
  };
}

const resourceOf = ({ group, version, plural }: Resource) => ({ group, version, resource: plural });

const questionAbout = ({ resource, subresource, namespace, name }: SentRequest) => ({
  group: resource.group,
  resource: resource.plural,
  subresource,
  namespace,
  name,
  fieldSelector: "",
  labelSelector: "",
});
