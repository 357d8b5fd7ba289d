import { type Subject } from "#lib/crypto/x509.ts";
import type { RequestHeaderOptions } from "#server/authenticate/request-header.ts";
import { type Trust } from "./publish-trust.ts";

/** As whom this server speaks for its callers at extension API servers. It is no user, here or there. */
export const ownProxySubject: Subject = { commonName: "front-proxy-client", organizations: [] };

const ownHeaders: Omit<RequestHeaderOptions, "allowedNames"> = {
  usernameHeaders: ["X-Remote-User"],
  uidHeaders: ["X-Remote-Uid"],
  groupHeaders: ["X-Remote-Group"],
  extraPrefixes: ["X-Remote-Extra-"],
};

/**
 * What extension servers should believe: this server, and the proxies in front of it that the administrator names.
 * Only the headers that this server sets are named, because others could come from its callers.
 */
export function withOwnProxy(configured: Trust["frontProxy"], ownCa: string): NonNullable<Trust["frontProxy"]> {
  const names = configured?.options.allowedNames ?? [];
  // An empty list allows every name.
  const allowedNames = configured && names.length === 0 ? [] : [...new Set([...names, ownProxySubject.commonName])];
  return { ca: `${configured?.ca ?? ""}\n${ownCa}`, options: { ...ownHeaders, allowedNames } };
}
