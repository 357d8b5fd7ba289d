import { qualifiedName } from "#api/meta/names.ts";
import { StatusError } from "#api/status.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { because } from "#server/refusal.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type ScaleViews } from "../changes/change-object.ts";
import { startHop } from "../record-admission.ts";
import { refusalOf, type WebhookAnswer } from "./answer.ts";
import { type Call, CallError, type CallWorld, callWebhook } from "./call.ts";
import type { MatchWorld } from "./plan-call.ts";
import { type RejectionType, type WebhookMetrics } from "./webhook-metrics.ts";

/** Everything that calls of webhooks need. */
export interface WebhookWorld extends CallWorld, MatchWorld {
  readonly views: ScaleViews;
  readonly recorder: TraceRecorder;
  readonly metrics: WebhookMetrics;
  /** For what is measured elsewhere. */
  readonly allMetrics?: Metrics | undefined;
  readonly log: Log;
  /** Answer what conditions ask about access. */
  readonly authorizers: readonly Authorizer[];
}

/**
 * Asks a webhook, and passes on what it says besides its decision. `change` does to the object what it asked for. Returns
 * undefined if the webhook failed and its policy is to ignore that; throws what the caller gets if it refuses.
 */
export async function ask(
  world: WebhookWorld,
  call: Call,
  change: (answer: WebhookAnswer) => Promise<readonly string[] | undefined> | undefined = () => undefined,
): Promise<{ readonly changes: readonly string[] | undefined } | undefined> {
  const record = startRecord(world, call);
  const { configuration, webhook } = call.hook;
  try {
    const answer = await callWebhook(world, call);
    passOn(call, answer);
    if (!answer.allowed) throw new Refused(refusalOf(webhook.name, answer.status));
    const changes = await change(answer);
    record({ code: 200, changes });
    return { changes };
  } catch (error) {
    const failed = error instanceof CallError;
    const thrown = failed ? error.toStatus() : error instanceof Refused ? error.status : error;
    const isIgnored = failed && webhook.failurePolicy === "Ignore";
    const code = thrown instanceof StatusError ? thrown.code : 0;
    const why = failed ? "calling_webhook_error" : error instanceof Refused ? "no_error" : "apiserver_internal_error";
    record({ code, fault: { message: messageOf(failed ? error : thrown), isIgnored, why } });
    if (isIgnored) return undefined;
    throw thrown instanceof StatusError ? because(thrown, { by: `webhook ${webhook.name}`, configuration }) : thrown;
  }
}

/** The webhook itself said no. */
class Refused extends Error {
  readonly status: StatusError;
  constructor(status: StatusError) {
    super(status.message);
    this.status = status;
  }
}

interface Outcome {
  readonly code: number;
  readonly changes?: readonly string[] | undefined;
  readonly fault?: {
    readonly message: string;
    readonly isIgnored: boolean;
    readonly why: RejectionType;
  };
}

const maxMessageBytes = 512;

/** Returns a function that records how the call ended: as a hop of the trace, in the metrics and in the log. */
function startRecord({ recorder, metrics, clock, log }: WebhookWorld, call: Call): (outcome: Outcome) => void {
  const { hook, mutates, request, view } = call;
  const { name } = hook.webhook;
  const startMs = clock.now();
  const about = { name, type: mutates ? "admit" : "validating", operation: view.operation } as const;
  const endHop = startHop(recorder, request, { hop: mutates ? "mutate" : "admit", by: `webhook ${name}` });
  return ({ code, changes, fault }) => {
    const refused = fault !== undefined && !fault.isIgnored;
    metrics.called({ ...about, code, refused, seconds: (clock.now() - startMs) / 1000 });
    if (fault && refused) metrics.refused({ ...about, why: fault.why, code });
    if (fault?.isIgnored) metrics.ignored(about);
    const said = fault ? { message: truncateBytes(fault.message, maxMessageBytes) } : {};
    endHop?.({ configuration: hook.configuration, status: code, ...(changes ? { changes } : {}), ...said });
    // A failure that refuses the request is in the log with it.
    if (fault?.isIgnored)
      log.info("an admission webhook failed and is ignored", { webhook: name, error: said.message });
  };
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
