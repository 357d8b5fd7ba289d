import { type AdmissionRequest } from "../plugin.ts";
import { type Call } from "./call.ts";
import { ask, type WebhookWorld } from "./dispatch.ts";
import { type Hook } from "./hook.ts";
import { viewOf } from "./view.ts";
import { viewFor } from "./view-for.ts";

/** Asks all validating webhooks that the request concerns, at the same time. The first refusal in their order counts. */
export async function validateWith(
  world: WebhookWorld,
  hooks: readonly Hook[],
  request: AdmissionRequest,
): Promise<void> {
  const original = viewOf(request, world.views);
  const calls: Call[] = [];
  for (const hook of hooks) {
    const view = await viewFor(world, hook, { request, original });
    if (view) calls.push({ hook, request, view, original, mutates: false });
  }
  const outcomes = await Promise.allSettled(calls.map((call) => ask(world, call)));
  const refused = outcomes.find((outcome) => outcome.status === "rejected");
  if (refused) throw refused.reason;
}
