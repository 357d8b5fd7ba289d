import { type ParamKind, type ParamRef } from "#api/admissionregistration/params.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type ApiObject, groupOf, type Resource } from "#api/resource.ts";
import { type Informers } from "#runtime/informer.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type SentRequest } from "../matching/sent-request.ts";

/** A policy or a binding cannot be used as it is written. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

export interface ParamDeps {
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
}

/** The resource with the parameters of a policy; undefined if the policy has none. */
export function paramResource(resources: ResourceRegistry, paramKind: ParamKind | undefined): Resource | undefined {
  if (!paramKind) return undefined;
  const { apiVersion = "", kind = "" } = paramKind;
  const found = resources.ofGroupVersion(apiVersion).find((resource) => resource.kind === kind);
  if (found) return found;
  const group = groupOf(apiVersion);
  const version = apiVersion.slice(group ? group.length + 1 : 0);
  const shown = `${group}/${version}, Kind=${kind}`;
  throw new ConfigurationError(`failed to find resource referenced by paramKind: '${shown}'`);
}

/**
 * The objects with the parameters of a binding: the policy is evaluated once for each. A policy without parameters is
 * evaluated once, without any.
 */
export async function paramsOf(
  { informers }: ParamDeps,
  { resource, paramRef }: { readonly resource: Resource | undefined; readonly paramRef: ParamRef | undefined },
  request: SentRequest,
): Promise<readonly (ApiObject | undefined)[]> {
  if (!resource || !paramRef) return [undefined];
  const namespace = namespaceFor(resource, paramRef, request);
  const informer = informers.of(resource);
  await informer.synced(request.signal);
  const found = paramRef.name
    ? [informer.get({ namespace, name: paramRef.name })].filter((one) => one !== undefined)
    : informer.list(namespace || undefined).filter(({ metadata }) => matches(paramRef.selector, metadata.labels));
  if (found.length === 0 && paramRef.parameterNotFoundAction === "Deny") {
    throw new ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return found;
}

function namespaceFor(resource: Resource, paramRef: ParamRef, request: SentRequest): string {
  if (resource.scope !== "Namespaced") {
    if (!paramRef.namespace) return "";
    throw new ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  const namespace = paramRef.namespace || request.namespace;
  if (namespace) return namespace;
  throw new ConfigurationError(
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
  );
}
