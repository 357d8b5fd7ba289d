import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { badRequest } from "#api/status.ts";
import { extraValues, hasHeaderStartingWith, headersStartingWith } from "#server/request/header-values.ts";

/** The user that a request wants to be, exactly as its headers say. */
export interface WantedUser extends UserInfo {
  readonly uid: string;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const prefix = "impersonate-";
const extraPrefix = "impersonate-extra-";

/** undefined if the request does not impersonate. */
export function readWanted(request: Pick<ApiRequest, "headers" | "rawHeaders">): WantedUser | undefined {
  if (!hasHeaderStartingWith(request, prefix)) return undefined;
  const sent = headersStartingWith(request, prefix);
  const [name = ""] = sent.get("impersonate-user") ?? [];
  const [uid = ""] = sent.get("impersonate-uid") ?? [];
  const groups = sent.get("impersonate-group") ?? [];
  const extras = extraValues(sent, extraPrefix);
  // Creates own properties of any name, even `__proto__`: exactly what was authorised is impersonated.
  const wanted = { name, uid, groups, extra: Object.fromEntries(extras) };
  if (name) return wanted;
  if (!uid && groups.length === 0 && extras.size === 0) return undefined;
  throw badRequest(`requested ${inGo(wanted)} without impersonating a user name`);
}

/** Upstream shows the user as Go writes it. */
function inGo({ name, uid, groups, extra }: WantedUser): string {
  const quoted = (text: string) => JSON.stringify(text);
  const list = (values: readonly string[]) => `[]string{${values.map(quoted).join(", ")}}`;
  const entries = Object.entries(extra).map(([key, values]) => `${quoted(key)}:${list(values)}`);
  const groupsInGo = groups.length > 0 ? list(groups) : "[]string(nil)";
  const extraInGo = entries.length > 0 ? `map[string][]string{${entries.join(", ")}}` : "map[string][]string(nil)";
  return `&user.DefaultInfo{Name:${quoted(name)}, UID:${quoted(uid)}, Groups:${groupsInGo}, Extra:${extraInGo}}`;
}
