import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { unauthorized } from "#api/status.ts";
import { extraValues, headersStartingWith, headerValues } from "#server/request/header-values.ts";
import { type Authenticator } from "./authenticator.ts";

/** What a front proxy sends about its callers: upstream's `--requestheader-…` flags. */
export interface RequestHeaderOptions {
  /** The first of these headers that has a value is the name. */
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
  /** Common names of proxies; if empty, any certificate of their authority counts. */
  readonly allowedNames: readonly string[];
}

/**
 * Takes the identity of a caller from the headers of a front proxy. The proxy must show a certificate of the proxies' own
 * authority; the headers of anybody else mean nothing.
 */
export function requestHeader(options: RequestHeaderOptions): Authenticator {
  const { allowedNames } = options;
  const lower = (names: readonly string[]) => names.map((name) => name.toLowerCase());
  const names = {
    user: lower(options.usernameHeaders),
    uid: lower(options.uidHeaders),
    groups: lower(options.groupHeaders),
    extra: lower(options.extraPrefixes),
  };
  return {
    name: "request-header",
    authenticate(request) {
      const { frontProxy } = request.peer;
      if (!frontProxy) return undefined;
      if (allowedNames.length > 0 && !allowedNames.includes(frontProxy.commonName)) throw unauthorized();
      const user = userOf(request, names);
      if (user) forget(request, names);
      return user;
    },
  };
}

interface HeaderNames {
  readonly user: readonly string[];
  readonly uid: readonly string[];
  readonly groups: readonly string[];
  readonly extra: readonly string[];
}

function userOf(request: ApiRequest, names: HeaderNames): UserInfo | undefined {
  const name = firstOf(request, names.user);
  if (!name) return undefined;
  const uid = firstOf(request, names.uid);
  const groups = names.groups.flatMap((header) => headerValues(request, header).filter(Boolean));
  const extra = extraOf(request, names.extra);
  return { name, groups, ...(uid ? { uid } : {}), ...(extra.size > 0 ? { extra: Object.fromEntries(extra) } : {}) };
}

/** The first value of the first header that has one. */
function firstOf(request: ApiRequest, names: readonly string[]): string {
  for (const name of names) {
    const [value] = headerValues(request, name);
    if (value) return value;
  }
  return "";
}

function extraOf(request: ApiRequest, prefixes: readonly string[]): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    for (const [key, values] of extraValues(headersStartingWith(request, prefix), prefix)) {
      extra.set(key, [...(extra.get(key) ?? []), ...values]);
    }
  }
  return extra;
}

/** Nobody behind this server gets to see them: it might believe them too. */
function forget({ headers }: ApiRequest, { user, uid, groups, extra }: HeaderNames): void {
  for (const header of Object.keys(headers)) {
    const isNamed = [user, uid, groups].some((names) => names.includes(header));
    if (isNamed || extra.some((prefix) => header.startsWith(prefix))) Reflect.deleteProperty(headers, header);
  }
}
