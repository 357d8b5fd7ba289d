import { type Slice } from "#lib/async/turns.ts";
import { type SentRequest } from "../matching/sent-request.ts";
import { type WebhookWorld } from "./dispatch.ts";
import { type Hook } from "./hook.ts";
import { planCall } from "./plan-call.ts";

/** What is sent to a webhook: a version of the request; undefined if it is not called. */
export async function viewFor(
  world: WebhookWorld,
  hook: Hook,
  { original, slice }: { readonly original: SentRequest; readonly slice: Slice },
): Promise<SentRequest | undefined> {
  const view = await planCall(world, hook.webhook, original);
  if (!view || !hook.webhook.matchConditions?.length) return view;
  const { meetsConditions } = await import("./meets-conditions.ts");
  return (await meetsConditions(world.authorizers, { hook, view, original, slice })) ? view : undefined;
}
