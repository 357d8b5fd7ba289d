import { randomUUID } from "node:crypto";
import { BackendError, badRequest, internalError, type StatusError } from "#api/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type PostWorld, postReview } from "#server/webhook/post.ts";
import { type SentRequest } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { AnswerError, readAnswer, type WebhookAnswer } from "./answer.ts";
import { type Hook } from "./hook.ts";
import { createReview, reviewVersionOf } from "./review.ts";

export interface CallWorld extends PostWorld {}

export interface Call {
  readonly hook: Hook;
  readonly request: AdmissionRequest;
  readonly view: SentRequest;
  readonly original: SentRequest;
  readonly mutates: boolean;
}

/** The webhook gave no usable answer: its failure policy decides. */
export class CallError extends Error {
  override readonly name = "CallError";

  constructor({ webhook }: Hook, why: string, options?: ErrorOptions) {
    super(`failed calling webhook ${JSON.stringify(webhook.name)}: ${why}`, options);
  }
  /** What the caller gets if the policy is Fail. */
  toStatus(): StatusError {
    return internalError(new BackendError(this.message, { cause: this }));
  }
}

/** Asks a webhook once. Throws CallError, or a StatusError that the caller gets whatever the policy says. */
export async function callWebhook(world: CallWorld, call: Call): Promise<WebhookAnswer> {
  const { hook, view, original, mutates } = call;
  refuseSideEffects(call);
  const version = reviewVersionOf(hook.webhook);
  if (!version)
    throw new CallError(
      hook,
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    );
  const uid = randomUUID();
  const body = Buffer.from(JSON.stringify(createReview({ uid, version, view, original })));
  const bytes = await post(world, call, body);
  try {
    return readAnswer(bytes, { uid, version, mutates });
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    throw new CallError(hook, error.message, { cause: error });
  }
}

/** A dry run must change nothing anywhere. */
function refuseSideEffects({ hook: { webhook }, request: { dryRun } }: Call): void {
  if (!dryRun || webhook.sideEffects === "None" || webhook.sideEffects === "NoneOnDryRun") return;
  throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
}

async function post(world: CallWorld, { hook, request }: Call, body: Uint8Array): Promise<Uint8Array> {
  const { timeoutSeconds } = hook.webhook;
  const { signal } = request;
  try {
    return await postReview(world, hook.webhook, {
      body,
      timeoutSeconds,
      userAgent: "kube-apiserver-admission",
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new CallError(hook, `failed to call webhook: ${messageOf(error)}`, { cause: error });
  }
}
