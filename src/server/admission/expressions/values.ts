import { type Namespace } from "#api/core/namespace.ts";
import { type ApiObject } from "#api/resource.ts";
import { dynType } from "#cel/types/type.ts";
import { valueFor } from "#cel/values/data.ts";
import { type Value } from "#cel/values/value.ts";
import { type AccessCheck, authorizerValue, requestResourceValue } from "#cel-kubernetes/authorizer.ts";
import { describeRequest } from "../matching/describe-request.ts";
import { type SentRequest } from "../matching/sent-request.ts";
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
    ["request", valueFor(requestType, describeRequest(request, sent))],
    ["namespaceObject", valueFor(namespaceType, namespace)],
    ["params", valueFor(dynType, params)],
  ]);
  if (access) {
    values.set("authorizer", authorizerValue(access));
    values.set("authorizer.requestResource", requestResourceValue(access, questionAbout(sent)));
  }
  return values;
}

const questionAbout = ({ resource, subresource, namespace, name }: SentRequest) => ({
  group: resource.group,
  resource: resource.plural,
  subresource,
  namespace,
  name,
  fieldSelector: "",
  labelSelector: "",
});
