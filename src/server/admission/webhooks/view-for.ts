import { type AdmissionRequest } from "../plugin.ts";
import { type WebhookWorld } from "./dispatch.ts";
import { type Hook } from "./hook.ts";
import { planCall } from "./plan-call.ts";
import { type View } from "./view.ts";

/** What is sent to a webhook: a version of the request; undefined if it is not called. */
export async function viewFor(
  world: WebhookWorld,
  hook: Hook,
  { request, original }: { readonly request: AdmissionRequest; readonly original: View },
): Promise<View | undefined> {
  const view = planCall(world, hook.webhook, request, original);
  if (!view || !hook.webhook.matchConditions?.length) return view;
  const { meetsConditions } = await import("./conditions/meets-conditions.ts");
  return (await meetsConditions(world.authorizers, { hook, request, view, original })) ? view : undefined;
}
