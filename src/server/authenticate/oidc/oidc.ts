import { createHash } from "node:crypto";
import { type UserInfo } from "#api/exchange.ts";
import { StatusError, tooManyRequests } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { QueueFullError } from "#lib/async/fair-queue.ts";
import { type Remembered, RememberedCalls } from "#lib/async/remembered-calls.ts";
import { type JwtPart, type ParsedJwt, parseJwt } from "#lib/crypto/jwt.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type TokenAuthenticator, type TokenIdentity } from "../bearer.ts";
import { hasExpressions, type JwtAuthenticator } from "./authentication-config.ts";
import type { ClaimSources } from "./distributed-claims.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { ClaimError, checkClaims, expiryMs, issuerOf, mapClaims } from "./map-claims.ts";

export interface OidcIssuer {
  readonly config: JwtAuthenticator;
  readonly keys: IssuerKeys;
  /** For tokens that refer to others for the groups. */
  readonly sources?: ClaimSources;
}

export interface OidcDeps {
  /** The issuers that hold now; they may change. */
  issuers(): readonly OidcIssuer[];
  /** The `alg` headers that are accepted, all of them asymmetric. */
  readonly algorithms: readonly string[];
  readonly clock: Clock;
}

/** Upstream's, all of them: whatever the key is, it decides which of these can be right. */
export const signingAlgorithms = ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

/** Verifications at the same time, and waiting ones of one address. */
const flood = { atOnce: 16, maxWaiting: 256 };
const remembered = { entries: 4096, chars: 8 * 1024 * 1024, keyChars: 100 };
/** A key that the issuer withdraws is not used for longer than this. */
const rememberedMs = 10_000;
/** Tokens with many groups are longer than our own. A header can hold no more than this. */
const maxTokenChars = 16 * 1024;

/** Verifies the tokens of OpenID Connect issuers and takes the user from their claims. */
export function oidcTokens({ issuers, algorithms, clock }: OidcDeps): TokenAuthenticator {
  const verified = new RememberedCalls<UserInfo>({ clock, limits: remembered, ...flood });
  return {
    name: "oidc",
    authenticateToken(token, _audiences, address = ""): TokenIdentity | undefined | Promise<TokenIdentity | undefined> {
      const jwt = parseJwt(token, maxTokenChars);
      const named = jwt && issuerOf(jwt.claims);
      const issuer = jwt && issuers().find(({ config }) => config.issuer.url === named);
      if (!issuer) return undefined;
      const key = createHash("sha256").update(`${named} ${token}`).digest("base64");
      const verify = () => verifyToken(issuer, { token, jwt, algorithms, now: clock.now() });
      const user = verified.ask(key, address, verify);
      return user instanceof Promise ? user.then((user) => ({ user }), refuse) : { user };
    },
  };
}

interface Verification {
  readonly token: string;
  readonly jwt: ParsedJwt;
  readonly algorithms: readonly string[];
  readonly now: number;
}

async function verifyToken(issuer: OidcIssuer, verification: Verification): Promise<Remembered<UserInfo>> {
  const { config, keys } = issuer;
  const { token, now } = verification;
  const signed = await signedClaims(keys, verification);
  checkClaims(signed, config, now);
  const { claims, untilMs } = await withGroups(issuer, signed, verification);
  const user = hasExpressions(config) ? await mapByExpressions(claims, config) : mapClaims(claims, config);
  const isCopied = hasExpressions(config) || claims !== signed;
  const chars = token.length + (isCopied ? JSON.stringify(user).length : 0);
  return { answer: user, ttlMs: Math.min(rememberedMs, Math.min(expiryMs(claims), untilMs) - now), chars };
}

/** The claims with groups that another server knows, if the token says so. */
async function withGroups(
  { config, sources }: OidcIssuer,
  claims: JwtPart,
  { algorithms, now }: Verification,
): Promise<{ readonly claims: JwtPart; readonly untilMs: number }> {
  if (!sources || claims._claim_names === undefined) return { claims, untilMs: Number.POSITIVE_INFINITY };
  const { expandGroups, maxSourceChars } = await import("./distributed-claims.ts");
  const verify = async (keys: IssuerKeys, token: string): Promise<JwtPart> => {
    const jwt = parseJwt(token, maxSourceChars);
    if (!jwt) throw new Error("a claim source did not answer with a token");
    return await signedClaims(keys, { token, jwt, algorithms, now });
  };
  try {
    return await expandGroups({ claims, config, sources, now, verify });
  } catch (error) {
    if (error instanceof QueueFullError) throw error;
    throw new ClaimError(`oidc: could not expand distributed claims: ${messageOf(error)}`);
  }
}

async function mapByExpressions(claims: JwtPart, config: JwtAuthenticator): Promise<UserInfo> {
  const { evaluateMappings, checkRules } = await import("./claim-expressions.ts");
  const user = mapClaims(claims, config, await evaluateMappings(config, claims));
  await checkRules(config, claims, user);
  return user;
}

/** The claims, after a key of the issuer has verified them. The key's type must fit the algorithm. */
async function signedClaims(keys: IssuerKeys, { token, jwt, algorithms }: Verification): Promise<JwtPart> {
  const { alg, kid } = jwt.header;
  if (typeof alg !== "string" || !algorithms.includes(alg)) {
    throw new Error(`id token signed with unsupported algorithm, expected ${algorithms} got ${String(alg)}`);
  }
  const id = typeof kid === "string" ? kid : undefined;
  const { compactVerify } = await import("jose/jws/compact/verify");
  const isSigned = async (): Promise<boolean> => {
    for (const { key } of keys.find(id)) {
      const isValid = await compactVerify(token, key, { algorithms: [alg] }).then(yes, no);
      if (isValid) return true;
    }
    return false;
  };
  // The issuer may have new keys.
  if ((await isSigned()) || ((await keys.refresh()) && (await isSigned()))) return jwt.claims;
  throw new Error("failed to verify signature: no key of the issuer has signed it");
}
const yes = () => true;
const no = () => false;

/** The bearer only learns that it is unauthorised. */
function refuse(error: unknown): never {
  if (error instanceof QueueFullError) throw tooManyRequests("too many tokens are being verified, try again later");
  const cause = error instanceof ClaimError ? error : new Error(`oidc: verify token: ${messageOf(error)}`);
  throw new StatusError("Unauthorized", "Unauthorized", undefined, { cause });
}
