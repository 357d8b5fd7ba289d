import { type Slice } from "#lib/async/turns.ts";
import { type SentRequest } from "../matching/sent-request.ts";
import { type WebhookWorld } from "./dispatch.ts";
import { type Hook } from "./hook.ts";
import { planCall } from "./plan-call.ts";

/** What is sent to a webhook: a version of the request; undefined if it is not called. */
export async function viewFor(
  world: WebhookWorld,
  hook: Hook,
  { original, slice, mutates }: { readonly original: SentRequest; readonly slice: Slice; readonly mutates: boolean },
): Promise<SentRequest | undefined> {
  const view = await planCall(world, hook.webhook, original);
  if (!view || !hook.webhook.matchConditions?.length) return view;
  const { meetsConditions } = await import("./meets-conditions.ts");
  const { authorizers, allMetrics } = world;
  const deps = { authorizers, allMetrics, type: mutates ? "admit" : "validating" } as const;
  return (await meetsConditions(deps, { hook, view, original, slice })) ? view : undefined;
}
