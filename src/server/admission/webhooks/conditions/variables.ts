import { type Environment } from "#cel/declare/environment.ts";
import { boolType, dynType, listType, mapType, stringType, structType, type Type } from "#cel/types/type.ts";
import { valueFor } from "#cel/values/data.ts";
import { type Value } from "#cel/values/value.ts";
import {
  type AccessCheck,
  authorizerType,
  authorizerValue,
  requestResourceValue,
  resourceCheckType,
} from "#cel-kubernetes/authorizer.ts";
import { kubernetesEnvironment } from "#cel-kubernetes/environment.ts";
import { type AdmissionRequest } from "../../plugin.ts";
import { describeRequest } from "../review.ts";
import { namespaceOf, type View } from "../view.ts";

function record(name: string, fields: Readonly<Record<string, Type>>): Type {
  const known = new Map(Object.entries(fields).map(([field, type]) => [field, { type }]));
  return structType(`kubernetes.${name}`, { field: (field) => known.get(field) });
}

const kindType = record("GroupVersionKind", { group: stringType, version: stringType, kind: stringType });
const resourceType = record("GroupVersionResource", { group: stringType, version: stringType, resource: stringType });
const userType = record("UserInfo", {
  username: stringType,
  uid: stringType,
  groups: listType(stringType),
  extra: mapType(stringType, listType(stringType)),
});
const requestType = record("AdmissionRequest", {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: userType,
  dryRun: boolType,
  options: dynType,
});

let environment: Environment | undefined;

/** What a match condition may use. */
export function conditionEnvironment(): Environment {
  environment ??= kubernetesEnvironment().extend({
    variables: {
      object: dynType,
      oldObject: dynType,
      request: requestType,
      authorizer: authorizerType,
      "authorizer.requestResource": resourceCheckType,
    },
  });
  return environment;
}

/** The variables of one request. */
export function conditionVariables(
  request: AdmissionRequest,
  views: { readonly view: View; readonly original: View },
  access: AccessCheck,
): ReadonlyMap<string, Value> {
  const { object, oldObject, ...described } = describeRequest(request, views);
  const { resource, subresource, name } = request;
  const asked = {
    group: resource.group,
    resource: resource.plural,
    subresource,
    namespace: namespaceOf(request),
    name,
  };
  return new Map<string, Value>([
    ["object", valueFor(dynType, object)],
    ["oldObject", valueFor(dynType, oldObject)],
    ["request", valueFor(requestType, described)],
    ["authorizer", authorizerValue(access)],
    ["authorizer.requestResource", requestResourceValue(access, { ...asked, fieldSelector: "", labelSelector: "" })],
  ]);
}
