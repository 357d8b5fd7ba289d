import { qualifiedName } from "#api/meta/names.ts";
import { groupResource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { type HopObject } from "#trace/hop.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type ScaleViews } from "../changes/change-object.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { refusalOf, type WebhookAnswer } from "./answer.ts";
import { type Call, CallError, type CallWorld, callWebhook } from "./call.ts";
import type { MatchWorld } from "./plan-call.ts";
import { type WebhookMetrics } from "./webhook-metrics.ts";

/** Everything that calls of webhooks need. */
export interface WebhookWorld extends CallWorld, MatchWorld {
  readonly views: ScaleViews;
  readonly recorder: TraceRecorder;
  readonly metrics: WebhookMetrics;
  readonly log: Log;
  /** Answer what conditions ask about access. */
  readonly authorizers: readonly Authorizer[];
}

/**
 * Asks a webhook and passes on what it says besides its decision. Returns undefined if it failed and its policy is to
 * ignore that; throws what the caller gets if it refuses.
 */
export async function ask(world: WebhookWorld, call: Call): Promise<WebhookAnswer | undefined> {
  const record = startRecord(world, call);
  try {
    const answer = await callWebhook(world, call);
    passOn(call, answer);
    if (!answer.allowed) throw refusalOf(call.hook.webhook.name, answer.status);
    record({ code: 200 });
    return answer;
  } catch (error) {
    const failed = error instanceof CallError;
    const thrown = failed ? error.toStatus() : error;
    const isIgnored = failed && call.hook.webhook.failurePolicy === "Ignore";
    const code = thrown instanceof StatusError ? thrown.code : 0;
    record({
      code,
      fault: { message: messageOf(error), isIgnored, why: failed ? "calling_webhook_error" : "no_error" },
    });
    if (isIgnored) return undefined;
    throw thrown;
  }
}

interface Outcome {
  readonly code: number;
  readonly fault?: {
    readonly message: string;
    readonly isIgnored: boolean;
    readonly why: "calling_webhook_error" | "no_error";
  };
}

const maxMessageBytes = 512;

/** Returns a function that records how the call ended: as a hop of the trace, in the metrics and in the log. */
function startRecord({ recorder, metrics, clock, log }: WebhookWorld, call: Call): (outcome: Outcome) => void {
  const { hook, mutates, request, view } = call;
  const { name } = hook.webhook;
  const startMs = clock.now();
  const about = { name, type: mutates ? "admit" : "validating", operation: view.operation } as const;
  const span = recorder.isOn
    ? recorder.startSpan({ hop: mutates ? "mutate" : "admit", component: `webhook ${name}`, object: objectOf(request) })
    : undefined;
  return ({ code, fault }) => {
    const refused = fault !== undefined && !fault.isIgnored;
    metrics.called({ ...about, code, refused, seconds: (clock.now() - startMs) / 1000 });
    if (fault && refused) metrics.refused({ ...about, why: fault.why, code });
    if (fault?.isIgnored) metrics.ignored(about);
    const said = fault ? { message: truncateBytes(fault.message, maxMessageBytes) } : {};
    span?.end({ facts: { configuration: hook.configuration, status: code, ...said } });
    // A failure that refuses the request is in the log with it.
    if (fault?.isIgnored)
      log.info("an admission webhook failed and is ignored", { webhook: name, error: said.message });
  };
}

/** Names are not checked yet when webhooks see them, and a hop is kept for long. */
function objectOf({ resource, namespace, name }: AdmissionRequest): HopObject {
  const short = (text: string) => truncateBytes(text, 253);
  return { resource: groupResource(resource, resource.plural), namespace: short(namespace), name: short(name) };
}

const maxAnnotations = 100;
const maxAnnotationBytes = 10 * 1024;

function passOn({ hook: { webhook }, request }: Call, { warnings, auditAnnotations }: WebhookAnswer): void {
  for (const warning of warnings) request.warn(warning);
  for (const [name, value] of Object.entries(auditAnnotations).slice(0, maxAnnotations)) {
    const key = `${webhook.name}/${name}`;
    if (qualifiedName(key) === undefined) request.annotate(key, truncateBytes(value, maxAnnotationBytes));
  }
}
