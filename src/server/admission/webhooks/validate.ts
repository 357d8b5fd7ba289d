import { nextTurn, Slice } from "#lib/async/turns.ts";
import { asSent } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type Call } from "./call.ts";
import { ask, type WebhookWorld } from "./dispatch.ts";
import { type Hook } from "./hook.ts";
import { viewFor } from "./view-for.ts";

/** Asks all validating webhooks that the request concerns, at the same time. The first refusal in their order counts. */
export async function validateWith(
  world: WebhookWorld,
  hooks: readonly Hook[],
  request: AdmissionRequest,
): Promise<void> {
  const original = asSent(request, world.views.scaleOf);
  const slice = new Slice();
  const calls: Call[] = [];
  for (const hook of hooks) {
    const view = await viewFor(world, hook, { original, slice, mutates: false });
    if (view) calls.push({ hook, request, view, original, mutates: false });
  }
  const asked: Promise<Refusal | undefined>[] = [];
  for (const [index, call] of calls.entries()) {
    asked.push(refusalBy(world, call, index));
    // The review of a large object takes long to write.
    await nextTurn();
  }
  const refused = (await Promise.all(asked)).find((refusal) => refusal !== undefined);
  if (refused) throw refused.error;
}

interface Refusal {
  readonly error: unknown;
}

async function refusalBy(world: WebhookWorld, call: Call, index: number): Promise<Refusal | undefined> {
  const { hook, request } = call;
  try {
    if (await ask(world, call)) return undefined;
    const key = `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`;
    request.annotate(key, hook.webhook.name);
    return undefined;
  } catch (error) {
    return { error };
  }
}
