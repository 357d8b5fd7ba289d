import { SubjectAccessReview, type SubjectAccessReviewSpec } from "#api/authorization/subject-access-review.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type Webhook } from "#client/webhook/webhook.ts";
import { type Clock } from "#lib/async/clock.ts";
import { QueueFullError } from "#lib/async/fair-queue.ts";
import { type Remembered, RememberedCalls } from "#lib/async/remembered-calls.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { decode } from "#schema/json/decode.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { type Authorizer, type Decision } from "../authorizer.ts";
import type { Match, Matched } from "./match-conditions.ts";
import { reviewSpecOf } from "./review-spec.ts";

export interface AuthorizationWebhookDeps {
  readonly name: string;
  readonly webhook: Webhook;
  /** The version of the reviews that the webhook reads and writes. */
  readonly version: "v1" | "v1beta1";
  /** How long a permission and a refusal hold; 0: for one request. */
  readonly allowedTtlMs: number;
  readonly refusedTtlMs: number;
  /** What a failure of the webhook means. */
  readonly onFailure: "no opinion" | "deny";
  /** Whether the webhook is asked about a request at all; by default, always. */
  readonly match?: Match | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reviews at the same time, and waiting ones of one user. */
const flood = { atOnce: 64, maxWaiting: 256 };
/** Upstream's limits: 8,192 answers, and none about a request with very long names. */
const remembered = { entries: 8192, chars: 16 * 1024 * 1024, keyChars: 12_000 };
/** A webhook explains itself to the caller, but not at any length. */
const maxReasonChars = 4096;

/** Asks another server what a user may do. */
export function authorizationWebhook(deps: AuthorizationWebhookDeps): Authorizer {
  const { name, clock } = deps;
  const reviews = new RememberedCalls<Decision>({ clock, limits: remembered, ...flood });
  return {
    name,
    rulesFor: () => ({
      rules: [],
      faults: ["webhook authorizer does not support user rule resolution"],
      incomplete: true,
    }),
    authorize(user: UserInfo, info: RequestInfo) {
      const spec = reviewSpecOf(user, info);
      const ask = () => {
        const decision = reviews.ask(JSON.stringify(spec), user.name, () => review(deps, spec));
        return decision instanceof Promise ? decision.catch((error: unknown) => failed(deps, error)) : decision;
      };
      const matched = deps.match?.(spec);
      if (!matched) return ask();
      const follow = (found: Matched) => decisionWithout(deps, found) ?? ask();
      return matched instanceof Promise ? matched.then(follow) : follow(matched);
    },
  };
}

/** What holds if the webhook is not asked; undefined if it is. */
function decisionWithout({ onFailure }: AuthorizationWebhookDeps, matched: Matched): Decision | undefined {
  if ("error" in matched) return { verdict: onFailure, reason: "", error: matched.error };
  return matched.matches ? undefined : { verdict: "no opinion", reason: "" };
}

async function review(deps: AuthorizationWebhookDeps, spec: SubjectAccessReviewSpec): Promise<Remembered<Decision>> {
  const { webhook, version, allowedTtlMs, refusedTtlMs } = deps;
  const kind = { apiVersion: `authorization.k8s.io/${version}`, kind: "SubjectAccessReview" };
  // The beta has another name for the groups.
  const { groups, ...rest } = spec;
  const sent = version === "v1" ? spec : { ...rest, ...(groups ? { group: groups } : {}) };
  const body = JSON.stringify({ ...kind, metadata: {}, spec: sent, status: { allowed: false } });
  const answer: unknown = JSON.parse(Buffer.from(await webhook.post(Buffer.from(body))).toString());
  const { value } = decode(SubjectAccessReview.schema, answer, { defaults: true });
  const decision = decisionOf(value.status);
  const ttlMs = value.status.allowed ? allowedTtlMs : refusedTtlMs;
  return { answer: decision, ttlMs, chars: decision.reason.length };
}

function decisionOf({ allowed, denied, reason: given = "" }: SubjectAccessReview["status"]): Decision {
  const reason = given.slice(0, maxReasonChars);
  const contradiction = "webhook subject access review returned both allow and deny response";
  if (allowed && denied) return { verdict: "deny", reason, error: contradiction };
  return { verdict: denied ? "deny" : allowed ? "allow" : "no opinion", reason };
}

function failed({ name, onFailure, log }: AuthorizationWebhookDeps, error: unknown): Decision {
  const why = error instanceof QueueFullError ? "too many requests wait for the webhook" : messageOf(error);
  log.error("the authorization webhook did not answer", { webhook: name, error: why });
  return { verdict: onFailure, reason: "", error: why };
}
