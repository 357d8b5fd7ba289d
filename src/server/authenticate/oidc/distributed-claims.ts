import { QueueFullError } from "#lib/async/fair-queue.ts";
import { type JwtPart, parseJwt } from "#lib/crypto/jwt.ts";
import { isObject } from "#lib/data/json-object.ts";
import type { JwtAuthenticator } from "./authentication-config.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { checkClaims, expiryMs } from "./map-claims.ts";

/** Where claims come from that a token only refers to. */
export interface ClaimSources {
  /** The body of the document at an https URL, which is fetched with the access token if there is one. */
  fetch(url: string, accessToken: string): Promise<string>;
  /** The keys of whoever signed what a source says. */
  keysOf(issuer: string): IssuerKeys;
  /** How many are being fetched. */
  underway: number;
}

export interface Expansion {
  readonly claims: JwtPart;
  readonly config: JwtAuthenticator;
  readonly sources: ClaimSources;
  readonly now: number;
  /** Resolves with the claims if one of the keys has signed the token. */
  verify(keys: IssuerKeys, token: string): Promise<JwtPart>;
}

const maxUrlChars = 2048;
/** Thousands of groups. */
export const maxSourceChars = 256 * 1024;
/** A source that hangs must not take all places for tokens that are being verified. */
const maxUnderway = 8;

/** The claims with that of the groups, where the token says that somebody else knows them; and until when they hold. */
export async function expandGroups(expansion: Expansion): Promise<{ claims: JwtPart; untilMs: number }> {
  const { claims, config } = expansion;
  const { claim = "" } = config.claimMappings.groups;
  const endpoint = planEndpoint(claims, claim);
  if (!endpoint) return { claims, untilMs: Number.POSITIVE_INFINITY };
  const found = await fetchClaims(expansion, endpoint);
  if (!Object.hasOwn(found, claim)) throw new Error(`the token from ${endpoint.url} has no claim ${claim}`);
  return { claims: { ...claims, [claim]: found[claim] }, untilMs: expiryMs(found) };
}

interface Endpoint {
  readonly url: string;
  readonly accessToken: string;
}

/** Where the claim is to be had: undefined if it is in the token, or nowhere. Only the issuer can have said it. */
export function planEndpoint(claims: JwtPart, claim: string): Endpoint | undefined {
  const { _claim_names: names, _claim_sources: sources } = claims;
  if (!claim || Object.hasOwn(claims, claim) || names === undefined) return undefined;
  if (!isObject(names) || Object.values(names).some((name) => typeof name !== "string"))
    throw new Error("_claim_names is not a map of texts");
  if (!isObject(sources) || !Object.values(sources).every(isObject))
    throw new Error("_claim_sources is not a map of objects");
  if (!Object.hasOwn(names, claim)) return undefined;
  const name = names[claim] as string;
  const source = Object.hasOwn(sources, name) ? (sources[name] as Record<string, unknown>) : undefined;
  if (!source) throw new Error(`_claim_names has a source ${JSON.stringify(name)} that _claim_sources lacks`);
  const { endpoint: url = "", access_token: accessToken = "" } = source;
  // An aggregated claim, which upstream ignores, too.
  if (url === "") return undefined;
  if (typeof url !== "string" || typeof accessToken !== "string")
    throw new Error("a claim source is not made of texts");
  if (!isSafeUrl(url)) throw new Error("a claim source has no https URL without credentials");
  if (/[^\x21-\x7e]/.test(accessToken)) throw new Error("the access token of a claim source is no token");
  return { url, accessToken };
}

function isSafeUrl(text: string): boolean {
  if (text.length > maxUrlChars || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === "https:" && username === "" && password === "";
}

async function fetchClaims(expansion: Expansion, { url, accessToken }: Endpoint): Promise<JwtPart> {
  const { config, sources, now, verify } = expansion;
  if (sources.underway >= maxUnderway) throw new QueueFullError(`${sources.underway} claim sources are being asked`);
  sources.underway++;
  try {
    const token = (await sources.fetch(url, accessToken)).trim();
    const issuer = parseJwt(token, maxSourceChars)?.claims.iss;
    if (typeof issuer !== "string" || !isSafeUrl(issuer)) throw new Error(`${url} did not answer with a token`);
    const keys = sources.keysOf(issuer);
    if (keys.find(undefined).length === 0) await keys.refresh();
    const claims = await verify(keys, token);
    checkClaims(claims, { ...config, issuer: { ...config.issuer, url: issuer } }, now);
    return claims;
  } finally {
    sources.underway--;
  }
}
