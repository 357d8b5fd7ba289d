import { Slice } from "#lib/async/turns.ts";
import { type Rounds } from "../changes/rounds.ts";
import { asSent } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { applyPatch } from "./apply-patch.ts";
import { type Call } from "./call.ts";
import { ask, type WebhookWorld } from "./dispatch.ts";
import { type Hook, type MutatingWebhook } from "./hook.ts";
import { viewFor } from "./view-for.ts";

export interface Mutation {
  readonly hooks: readonly Hook[];
  readonly request: AdmissionRequest;
  readonly round: Rounds;
}

/** Asks the mutating webhooks in order; each sees the changes of those before it. */
export async function mutateWith(world: WebhookWorld, { hooks, request, round }: Mutation): Promise<void> {
  round.begin(request.object);
  const slice = new Slice();
  for (const [index, hook] of hooks.entries()) {
    if (!round.calls(hook.id)) continue;
    const original = asSent(request, world.views.scaleOf);
    const view = await viewFor(world, hook, { original, slice, mutates: true });
    if (!view) continue;
    const hasChanged = await mutateBy(world, { hook, request, view, original, mutates: true }, place(round, index));
    const wantsAgain = (hook.webhook as MutatingWebhook).reinvocationPolicy === "IfNeeded";
    round.called(hook.id, { hasChanged, wantsAgain });
  }
  round.end(request.object);
}

/** Returns whether it has changed the object. */
async function mutateBy(world: WebhookWorld, call: Call, at: string): Promise<boolean> {
  const { hook, request } = call;
  const answer = await ask(world, call, ({ patch }) => (patch.length > 0 ? applyPatch(world, call, patch) : undefined));
  if (!answer) request.annotate(`failed-open.mutation.webhook.admission.k8s.io/${at}`, hook.webhook.name);
  const hasChanged = answer?.changes !== undefined;
  const { configuration, webhook } = hook;
  const facts = { configuration, webhook: webhook.name, mutated: hasChanged };
  request.annotate(`mutation.webhook.admission.k8s.io/${at}`, JSON.stringify(facts));
  return hasChanged;
}

const place = ({ isSecond }: Rounds, index: number): string => `round_${isSecond ? 1 : 0}_index_${index}`;
