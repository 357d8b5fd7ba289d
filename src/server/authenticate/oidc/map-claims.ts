import { type UserInfo } from "#api/exchange.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";
import type { JwtAuthenticator } from "./authentication-config.ts";

/** A verified token does not identify anybody. The message is upstream's. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";
}

/** The tolerated difference of clocks for tokens that are not valid yet. */
const notBeforeLeewayMs = 5 * 60_000;

/** Whether a token with a valid signature is for us, and for now. */
export function checkClaims(claims: JwtPart, { issuer }: JwtAuthenticator, now: number): void {
  const { url = "", audiences = [] } = issuer;
  if (issuerOf(claims) !== url) throw new ClaimError(`oidc: id token issued by a different provider, expected ${url}`);
  const found = audiencesOf(claims.aud);
  if (!found.some((audience) => audiences.includes(audience))) {
    throw new ClaimError(`oidc: expected audience in ${JSON.stringify(audiences)} got ${JSON.stringify(found)}`);
  }
  if (!(expiryMs(claims) > now)) throw new ClaimError("oidc: token is expired");
  if (typeof claims.nbf === "number" && claims.nbf * 1000 > now + notBeforeLeewayMs) {
    throw new ClaimError("oidc: current time is before the nbf (not before) time");
  }
}

/** Google's tokens may name their issuer without the scheme. */
export const issuerOf = ({ iss }: JwtPart): unknown =>
  iss === "accounts.google.com" ? "https://accounts.google.com" : iss;

/** A token without an expiry is expired. */
export const expiryMs = ({ exp }: JwtPart): number => (typeof exp === "number" ? exp * 1000 : 0);

function audiencesOf(aud: unknown): string[] {
  const list: unknown[] = Array.isArray(aud) ? aud : [aud];
  return list.filter((name) => typeof name === "string");
}

/** What expressions made of the claims. */
export interface MappedClaims {
  readonly name?: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The user that the claims name, if they meet the rules. What is not `mapped` is a claim as it is. */
export function mapClaims(
  claims: JwtPart,
  { claimMappings, claimValidationRules = [] }: JwtAuthenticator,
  mapped: MappedClaims = {},
): UserInfo {
  const { username, groups, uid } = claimMappings;
  const extra = { ...credentialOf(claims), ...mapped.extra };
  const ownUid = uid.claim ? textOf(claims, uid.claim, "uid claim") : mapped.uid;
  const user = {
    name: mapped.name ?? nameOf(claims, username.claim ?? "", username.prefix ?? ""),
    groups: mapped.groups ?? groupsOf(claims, groups.claim ?? "", groups.prefix ?? ""),
    ...(ownUid === undefined ? {} : { uid: ownUid }),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
  for (const { claim = "", requiredValue = "", expression } of claimValidationRules) {
    if (expression) continue;
    if (!Object.hasOwn(claims, claim)) throw new ClaimError(`oidc: required claim ${claim} not present in ID token`);
    const value = textOf(claims, claim, "claim");
    if (value === requiredValue) continue;
    throw new ClaimError(`oidc: required claim ${claim} value does not match. Got = ${value}, want = ${requiredValue}`);
  }
  return user;
}

function nameOf(claims: JwtPart, claim: string, prefix: string): string {
  const name = textOf(claims, claim, "username claims");
  if (claim === "email" && Object.hasOwn(claims, "email_verified") && claims.email_verified !== true) {
    throw new ClaimError("oidc: email not verified");
  }
  if (!name) throw new ClaimError(`oidc: the username claim ${JSON.stringify(claim)} is empty`);
  return prefix + name;
}

/** A text, or a list of texts. */
function groupsOf(claims: JwtPart, claim: string, prefix: string): string[] {
  if (!claim || !Object.hasOwn(claims, claim)) return [];
  const value = claims[claim];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((group) => {
    if (typeof group === "string") return prefix + group;
    throw new ClaimError(`oidc: parse groups claim ${JSON.stringify(claim)}: it is not a string or a list of strings`);
  });
}

function textOf(claims: JwtPart, claim: string, what: string): string {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (typeof value === "string") return value;
  const why = value === undefined ? "claim not present" : "it is not a string";
  throw new ClaimError(`oidc: parse ${what} ${JSON.stringify(claim)}: ${why}`);
}

const credentialOf = ({ jti }: JwtPart): Readonly<Record<string, readonly string[]>> =>
  typeof jti === "string" && jti ? { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] } : {};
