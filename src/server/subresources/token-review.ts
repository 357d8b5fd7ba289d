import { type SelfSubjectReview } from "#api/authentication/self-subject-review.ts";
import { type TokenReview } from "#api/authentication/token-review.ts";
import { type UserInfo as WireUser } from "#api/authentication/user-info.ts";
import { type UserInfo } from "#api/exchange.ts";
import { badRequest, StatusError } from "#api/status.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { type TokenAuthenticator, type TokenIdentity } from "#server/authenticate/bearer.ts";
import { withAuthenticatedGroup } from "#server/authenticate/chain.ts";

export interface TokenReviewDeps {
  readonly tokens: readonly TokenAuthenticator[];
  /** The audiences of the API server, which are also those of tokens without any. */
  readonly audiences: readonly string[];
}

/** Identifies the user of a token, for servers that cannot verify tokens themselves. */
export async function reviewToken(deps: TokenReviewDeps, sent: TokenReview): Promise<TokenReview> {
  const review = { ...sent, metadata: withoutServerFields(sent.metadata) };
  const { token, audiences: asked = [] } = sent.spec;
  if (!token) throw badRequest("token is required for TokenReview in authentication");
  const audiences = asked.length > 0 ? asked : deps.audiences;
  const { identity, fault } = await identify(deps, token, audiences);
  if (!identity) {
    const error = fault ? `[invalid bearer token, ${fault}]` : "invalid bearer token";
    return { ...review, status: { user: {}, error } };
  }
  const shared = identity.audiences ?? deps.audiences.filter((name) => audiences.includes(name));
  if (shared.length === 0) return { ...review, status: { user: {} } };
  const user = wireUser(withAuthenticatedGroup(identity.user));
  return { ...review, status: { authenticated: true, user, audiences: [...shared] } };
}

/** The identity from the first authenticator that knows the token; otherwise the first error. */
async function identify(
  { tokens }: TokenReviewDeps,
  token: string,
  audiences: readonly string[],
): Promise<{ identity?: TokenIdentity; fault?: string }> {
  let fault: string | undefined;
  for (const authenticator of tokens) {
    try {
      const identity = await authenticator.authenticateToken(token, audiences);
      if (identity) return { identity };
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 401) throw error;
      fault ??= error.cause instanceof Error ? error.cause.message : error.message;
    }
  }
  return fault === undefined ? {} : { fault };
}

/** Returns the caller's identity. */
export const reviewSelf = (review: SelfSubjectReview, user: UserInfo, clock: Clock): SelfSubjectReview => ({
  ...review,
  metadata: { creationTimestamp: timestamp(clock.now()) },
  status: { userInfo: wireUser(user) },
});

function wireUser({ name, uid, groups, extra }: UserInfo): WireUser {
  const copies = Object.entries(extra ?? {}).map(([key, values]) => [key, [...values]]);
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length > 0 ? { groups: [...groups] } : {}),
    ...(copies.length > 0 ? { extra: Object.fromEntries(copies) } : {}),
  };
}

/** What only a server sets, which nobody has set here. */
function withoutServerFields(metadata: TokenReview["metadata"]): TokenReview["metadata"] {
  const {
    uid: _uid,
    namespace: _namespace,
    creationTimestamp: _created,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    ...rest
  } = metadata;
  return rest;
}
