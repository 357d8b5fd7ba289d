import { createHash } from "node:crypto";
import { TokenReview } from "#api/authentication/token-review.ts";
import { StatusError, tooManyRequests } from "#api/status.ts";
import { type Webhook } from "#client/webhook/webhook.ts";
import { type Clock } from "#lib/async/clock.ts";
import { QueueFullError } from "#lib/async/fair-queue.ts";
import { type Remembered, RememberedCalls } from "#lib/async/remembered-calls.ts";
import { type Log } from "#lib/process/log.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { decode } from "#schema/json/decode.ts";
import { type TokenAuthenticator, type TokenIdentity } from "./bearer.ts";

export interface TokenWebhookDeps {
  readonly webhook: Webhook;
  /** The version of the TokenReviews that the webhook reads and writes. */
  readonly version: "v1" | "v1beta1";
  /** How long an answer holds; 0: for one request. */
  readonly ttlMs: number;
  /** The audiences of the API server. */
  readonly audiences: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Reviews at the same time, and waiting ones of one address. A flood of unknown tokens delays nobody else for long. */
const flood = { atOnce: 64, maxWaiting: 256 };
const remembered = { entries: 4096, chars: 8 * 1024 * 1024, keyChars: 100 };

/** What a review found: an identity, an error, or neither if the webhook does not know the token. */
interface Reviewed {
  readonly identity?: TokenIdentity;
  readonly error?: string;
}

/** Asks another server whose token it is. Both answers, yes and no, are remembered; a failure is not. */
export function tokenWebhook(deps: TokenWebhookDeps): TokenAuthenticator {
  const reviews = new RememberedCalls<Reviewed>({ clock: deps.clock, limits: remembered, ...flood });
  return {
    name: "webhook",
    authenticateToken(token, audiences = deps.audiences, address = "") {
      if (token.length > maxKeyChars) return refuse("the token is too long");
      const kind = { apiVersion: `authentication.k8s.io/${deps.version}`, kind: "TokenReview" };
      const body = JSON.stringify({ ...kind, metadata: {}, spec: { token, audiences }, status: { user: {} } });
      // A hash, so that the tokens of others are not kept in memory.
      const key = createHash("sha256").update(body).digest("base64");
      const reviewed = reviews.ask(key, address, () => review(deps, body, audiences));
      return reviewed instanceof Promise
        ? reviewed.then(accept, (error: unknown) => fail(deps, error))
        : accept(reviewed);
    },
  };
}

async function review(
  { webhook, ttlMs, audiences: own }: TokenWebhookDeps,
  body: string,
  wanted: readonly string[],
): Promise<Remembered<Reviewed>> {
  const answer = Buffer.from(await webhook.post(Buffer.from(body)));
  const { value } = decode(TokenReview.schema, JSON.parse(answer.toString()), { defaults: true });
  return { answer: readStatus(value.status, wanted, own), ttlMs, chars: answer.byteLength };
}

/** A webhook that knows no audiences vouches for those of the API server. */
function readStatus(status: TokenReview["status"], wanted: readonly string[], own: readonly string[]): Reviewed {
  const { authenticated, user, audiences: granted = [], error } = status;
  const known = granted.length > 0 ? granted : own;
  const audiences = wanted.filter((name) => known.includes(name));
  if (audiences.length === 0) return {};
  if (!authenticated) return error ? { error } : {};
  const { username: name, uid, groups = [], extra } = user;
  if (!name) return { error: "the webhook accepted the token but named no user" };
  return { identity: { user: { name, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) }, audiences } };
}

const accept = ({ identity, error }: Reviewed): TokenIdentity | undefined => (error ? refuse(error) : identity);

/** Without an answer the token is not accepted. The caller is not told why, because it may be anybody. */
function fail({ log }: TokenWebhookDeps, error: unknown): never {
  if (error instanceof QueueFullError) throw tooManyRequests("too many tokens are being reviewed, try again later");
  if (error instanceof StatusError) throw error;
  log.error("the authentication webhook did not answer", { error: messageOf(error) });
  return refuse(messageOf(error));
}

function refuse(why: string): never {
  throw new StatusError("Unauthorized", "Unauthorized", undefined, { cause: new Error(why) });
}
