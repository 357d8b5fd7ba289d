import { type Target } from "../routing/request-target.ts";
import { type PathMatch, type RedirectAction, type RequestChange } from "../routing/route.ts";
import { type ClientFacts } from "./headers.ts";

/** The path and query that a backend gets. */
export function backendPath({ path, search }: Target, match: PathMatch, change: RequestChange["path"]): string {
  return `${changedPath(path, match, change)}${search}`;
}

function changedPath(path: string, match: PathMatch, change: RequestChange["path"]): string {
  if (!change) return path;
  if (change.type === "full") return change.value || "/";
  const rest = match.type === "prefix" && match.value !== "/" ? path.slice(match.value.length) : path;
  const start = change.value.endsWith("/") ? change.value.slice(0, -1) : change.value;
  const joined = rest.startsWith("/") || rest === "" ? `${start}${rest}` : `${start}/${rest}`;
  return joined.startsWith("/") ? joined : `/${joined}`;
}

/** Where a redirect leads. */
export function redirectLocation(
  { scheme, host, port, path }: RedirectAction,
  { target, match, client }: { readonly target: Target; readonly match: PathMatch; readonly client: ClientFacts },
): string {
  const protocol = scheme ?? (client.isSecure ? "https" : "http");
  const number = port ?? (scheme === undefined ? client.port : undefined);
  const isUsual = number === undefined || number === (protocol === "https" ? 443 : 80);
  const authority = `${host ?? target.host}${isUsual ? "" : `:${number}`}`;
  return `${protocol}://${authority}${changedPath(target.path, match, path)}${target.search}`;
}
