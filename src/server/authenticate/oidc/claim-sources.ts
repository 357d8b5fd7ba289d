import { type ClaimSources, maxSourceChars } from "./distributed-claims.ts";
import { createIssuerKeys, fetchText, type IssuerKeys, type IssuerKeysOptions } from "./issuer-keys.ts";

/** A request waits for it, so it is shorter than the time for keys, which are fetched ahead. */
const limits = { timeoutMs: 5000, maxBytes: maxSourceChars };
/** Few sign for others. The one that was asked least recently is forgotten. */
const maxIssuers = 16;

/** The claim sources of an issuer, which has the keys of its own. They are verified with its authority. */
export function createClaimSources(own: IssuerKeys, options: IssuerKeysOptions): ClaimSources {
  const { clock, certificateAuthority } = options;
  const others = new Map<string, IssuerKeys>();
  return {
    underway: 0,
    fetch(url, accessToken) {
      const headers: Record<string, string> = accessToken ? { authorization: `Bearer ${accessToken}` } : {};
      return fetchText(url, { clock, certificateAuthority, headers, ...limits });
    },
    keysOf(issuer) {
      if (issuer === options.url) return own;
      const keys = others.get(issuer) ?? createIssuerKeys({ ...options, url: issuer, discoveryUrl: undefined });
      others.delete(issuer);
      others.set(issuer, keys);
      const [oldest] = others.keys();
      if (others.size > maxIssuers && oldest !== undefined) others.delete(oldest);
      return keys;
    },
  };
}
