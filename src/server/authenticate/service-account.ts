import { createHash, timingSafeEqual } from "node:crypto";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type ApiObject } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { invalidSinceLabel } from "#api/well-known.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isSignedBy, parseJwt, type VerifyingKey } from "#lib/crypto/jwt.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { quotedList } from "#lib/text/quoted-list.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { type TokenAuthenticator, type TokenIdentity } from "./bearer.ts";
import { type LegacyTokenUses } from "./legacy-token-uses.ts";
import { legacyIssuer, readClaims, type ServiceAccountClaims, serviceAccountUser } from "./service-account-claims.ts";

export interface ServiceAccountTokenDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  /** Tokens of other issuers are ignored. The first one is used to issue tokens. */
  readonly issuers: readonly string[];
  /** The audiences of the API server: a token for others is not valid here. */
  readonly audiences: readonly string[];
  readonly keys: readonly VerifyingKey[];
  /** Notes the uses of tokens that are kept in Secrets. */
  readonly uses?: LegacyTokenUses | undefined;
  /** Resolves when the informers show what other servers have written; undefined if there are none. */
  catchUp?(): Promise<void> | undefined;
}

/** The tolerated difference between clocks. */
const leewayMs = 60_000;
/** Only tokens with a valid signature are cached, and none longer than those that the API server issues. */
const rememberedTokens = { entries: 4096, chars: 8 * 1024 * 1024, keyChars: 8 * 1024 };
/** A token that is refused does not cause another look into the store before this. */
const nextLookMs = 10_000;

/**
 * Verifies the tokens of service accounts. The signature is checked once and cached; the existence of the account and
 * of the bound object is checked every time, because deleting them revokes a token.
 */
export function serviceAccountTokens(deps: ServiceAccountTokenDeps): TokenAuthenticator {
  const { informers, clock } = deps;
  const verified = new BoundedCache<Verified>(rememberedTokens);
  const bound = {
    accounts: informers.of(ServiceAccount),
    secrets: informers.of(Secret),
    pods: informers.of(Pod),
    nodes: informers.of(Node),
  };
  return {
    name: "service-account",
    authenticateToken(token, audiences = deps.audiences) {
      let known = verified.get(token);
      if (!known) {
        known = verifyToken(deps, token);
        if (!known) return undefined;
        // The claims are about as long as the token.
        verified.set(token, known, token.length);
      }
      checkTime(known.claims, clock.now());
      const seen = known;
      const identify = (): TokenIdentity => {
        checkBound(bound, seen.claims, clock.now() - leewayMs);
        if (seen.claims.homeSecret !== undefined) checkHome(bound, seen.claims, { ...deps, token });
        return audiences === deps.audiences && seen.forServer ? seen.forServer : identityFor(seen, audiences);
      };
      try {
        return identify();
      } catch (refusal) {
        const caughtUp = catchUp(deps, seen);
        if (!caughtUp) throw refusal;
        return caughtUp.then(identify);
      }
    },
  };
}

/**
 * Another server may have written what this one misses. Only tokens that we have signed get here, and each waits once:
 * the objects that a token is bound to are older than the token. undefined if there is nothing to wait for.
 */
function catchUp(deps: ServiceAccountTokenDeps, known: Verified): Promise<void> | undefined {
  if (known.catchingUp || deps.clock.now() < known.nextLookAt) return known.catchingUp;
  // Without an answer the token is refused for what is known.
  known.catchingUp = deps
    .catchUp?.()
    ?.catch(() => {})
    .finally(() => {
      known.catchingUp = undefined;
      known.nextLookAt = deps.clock.now() + nextLookMs;
    });
  return known.catchingUp;
}

interface Verified {
  readonly claims: ServiceAccountClaims;
  readonly user: UserInfo;
  /** Legacy tokens have no audience: they are for the API server. */
  readonly audiences: readonly string[];
  /** undefined if the token is for others. */
  readonly forServer: TokenIdentity | undefined;
  /** The wait for what other servers have written, and when there may be another. */
  catchingUp: Promise<void> | undefined;
  nextLookAt: number;
}

/** Returns undefined if it is not one of our tokens. */
function verifyToken(deps: ServiceAccountTokenDeps, token: string): Verified | undefined {
  const jwt = parseJwt(token);
  const issuer = jwt?.claims.iss;
  if (!jwt || typeof issuer !== "string") return undefined;
  if (issuer !== legacyIssuer && !deps.issuers.includes(issuer)) return undefined;
  const { kid } = jwt.header;
  const keys = kid ? deps.keys.filter(({ id }) => id === kid) : deps.keys;
  if (keys.length === 0) refuse("invalid signature, no keys found");
  if (!keys.some((key) => isSignedBy(key, jwt))) refuse("invalid signature");
  const claims = readClaims(jwt.claims) ?? refuse("service account token claims could not be validated");
  const user = serviceAccountUser(claims);
  const audiences = claims.audiences.length > 0 ? claims.audiences : deps.audiences;
  const isForServer = audiences.some((name) => deps.audiences.includes(name));
  const known = { claims, user, audiences };
  const forServer = isForServer ? identityFor(known, deps.audiences) : undefined;
  return { ...known, forServer, catchingUp: undefined, nextLookAt: 0 };
}

function identityFor(
  { user, audiences }: Pick<Verified, "user" | "audiences">,
  asked: readonly string[],
): TokenIdentity {
  const shared = audiences.filter((name) => asked.includes(name));
  if (shared.length > 0) return { user, audiences: shared };
  return refuse(`token audiences ${quotedList(audiences)} is invalid for the target audiences ${quotedList(asked)}`);
}

function checkTime({ expiresMs, notBeforeMs, issuedMs }: ServiceAccountClaims, now: number): void {
  if (expiresMs !== undefined && now - leewayMs > expiresMs) refuse("service account token has expired");
  if (notBeforeMs !== undefined && now + leewayMs < notBeforeMs) refuse("service account token is not valid yet");
  if (issuedMs !== undefined && now + leewayMs < issuedMs) refuse("service account token is issued in the future");
}

interface BoundObjects {
  readonly accounts: Informer<ServiceAccount>;
  readonly secrets: Informer<Secret>;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
}

function checkBound(objects: BoundObjects, claims: ServiceAccountClaims, deletedBefore: number): void {
  const { namespace, account, secret, pod, node } = claims;
  const owner = objects.accounts.get({ namespace, name: account.name });
  if (!owner) refuse(`serviceaccounts ${JSON.stringify(account.name)} not found`);
  if (owner.metadata.uid !== account.uid) {
    refuse(`service account UID (${owner.metadata.uid}) does not match claim (${account.uid})`);
  }
  if (isGone(owner, deletedBefore)) refuse(`service account ${namespace}/${account.name} has been deleted`);
  const check = (kind: string, object: ApiObject | undefined, uid: string): void => {
    if (!object || isGone(object, deletedBefore)) return refuse("service account token has been invalidated");
    if (object.metadata.uid === uid) return;
    refuse(`${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${uid})`);
  };
  if (secret) check("secret", objects.secrets.get({ namespace, name: secret.name }), secret.uid);
  if (pod) check("pod", objects.pods.get({ namespace, name: pod.name }), pod.uid);
  // A pod's token only mentions its node.
  else if (node) check("node", objects.nodes.get({ name: node.name }), node.uid);
}

const isGone = ({ metadata }: ApiObject, deletedBefore: number): boolean =>
  metadata.deletionTimestamp !== undefined && Date.parse(metadata.deletionTimestamp) < deletedBefore;

/** A token in a Secret must still be stored there, and not be marked as invalid. */
function checkHome(
  { secrets }: BoundObjects,
  { namespace, account, homeSecret = "" }: ServiceAccountClaims,
  { clock, uses, token }: Pick<ServiceAccountTokenDeps, "clock" | "uses"> & { readonly token: string },
): void {
  const secret = secrets.get({ namespace, name: homeSecret });
  if (!secret || secret.metadata.deletionTimestamp) return refuse("Token has been invalidated");
  const { metadata, data } = secret;
  const kept = createHash("sha256")
    .update(Buffer.from(data?.token ?? "", "base64"))
    .digest();
  const shown = createHash("sha256").update(token).digest();
  if (!timingSafeEqual(kept, shown)) refuse("Token does not match server's copy");
  // Also of one that is refused, so that nobody deletes what is still wanted.
  uses?.note(secret, clock.now());
  if (!metadata.labels?.[invalidSinceLabel]) return;
  refuse(
    `the token in secret ${namespace}/${homeSecret} for service account ${namespace}/${account.name} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSinceLabel}' label from the secret to temporarily allow use of this token`,
  );
}

/** The bearer only learns that it is unauthorised; the reason is in the cause, for the log and for TokenReviews. */
function refuse(why: string): never {
  throw new StatusError("Unauthorized", "Unauthorized", undefined, { cause: new Error(why) });
}
