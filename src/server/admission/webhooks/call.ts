import { randomUUID } from "node:crypto";
import { BackendError, badRequest, internalError, type StatusError } from "#api/status.ts";
import { type Exchanged, exchangeBounded } from "#client/webhook/bounded-exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Address, type ResolveService } from "#server/extension/connections.ts";
import { describeFault } from "#server/extension/describe-fault.ts";
import { type SentRequest } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { AnswerError, readAnswer, type WebhookAnswer } from "./answer.ts";
import { type Hook } from "./hook.ts";
import { createReview, reviewVersionOf } from "./review.ts";
import { addressOf, type WebhookConnections } from "./target.ts";

export interface CallWorld {
  readonly clock: Clock;
  readonly connections: WebhookConnections;
  readonly resolveService: ResolveService;
}

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

/** The largest answer: a patch of the largest object fits. */
export const maxAnswerBytes = 4 * 1024 * 1024;

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
  const { body: bytes } = await post(world, call, body);
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

let turn = 0;

async function post(world: CallWorld, { hook, request }: Call, body: Uint8Array): Promise<Exchanged> {
  const { timeoutSeconds } = hook.webhook;
  const { clock, connections, resolveService } = world;
  let address: Address | undefined;
  try {
    address = await addressOf(hook.webhook, resolveService, turn++);
    const { path, authority: host } = address;
    const headers = {
      host,
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": "kube-apiserver-admission",
    };
    const limits = { timeoutMs: timeoutSeconds * 1000, maxBytes: maxAnswerBytes, clock, signal: request.signal };
    const wire = { method: "POST", path: `${path}?timeout=${timeoutSeconds}s`, headers, body };
    const exchanged = await connections.of(hook).use(address, (transport) => exchangeBounded(transport, wire, limits));
    if (exchanged.status >= 200 && exchanged.status < 300) return exchanged;
    throw new Error(describeStatus(exchanged));
  } catch (error) {
    // The caller has left, so there is nobody to answer.
    if (request.signal.aborted) throw request.signal.reason;
    const url = address ? `Post "https://${address.authority}${address.path}?timeout=${timeoutSeconds}s": ` : "";
    throw new CallError(hook, `failed to call webhook: ${url}${describeFault(error, address)}`, { cause: error });
  }
}

const maxShownBytes = 512;

function describeStatus({ status, body }: Exchanged): string {
  if (status === 404) return "the server could not find the requested resource";
  const shown = Buffer.from(body.subarray(0, maxShownBytes)).toString("utf8").trim() || "unknown";
  if (status >= 500)
    return `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${status} but did not return more information`;
}
