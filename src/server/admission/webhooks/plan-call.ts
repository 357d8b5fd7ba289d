import { type Namespace } from "#api/core/namespace.ts";
import { type Informer } from "#runtime/informer.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { matchRequest } from "../matching/criteria.ts";
import { inVersionOf, type SentRequest } from "../matching/sent-request.ts";
import { type Webhook } from "./hook.ts";

export interface MatchWorld {
  readonly resources: ResourceRegistry;
  readonly namespaces: Informer<Namespace>;
}

/** What is sent to a webhook, before its conditions are asked: a version of the request; undefined: nothing. */
export async function planCall(
  { resources, namespaces }: MatchWorld,
  { rules = [], matchPolicy, namespaceSelector, objectSelector }: Webhook,
  request: SentRequest,
): Promise<SentRequest | undefined> {
  // Unlike a policy, a webhook without rules is about nothing.
  if (rules.length === 0) return undefined;
  const resource = await matchRequest({ rules, matchPolicy, namespaceSelector, objectSelector }, request, {
    namespaces: { namespaces },
    equivalents: (one) => resources.equivalents(one),
  });
  return resource && inVersionOf(resources, request, resource);
}
