import { type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";
import { isSet, isTrue } from "#lib/net/query-flag.ts";
import { type FieldError, forbiddenValue, root, unsupportedValue } from "#schema/field-error.ts";
import { notANumber, optionsFault } from "#server/input/options.ts";
import { type Selection, select } from "#server/objects/selection.ts";
import { type Context } from "#server/request/pipeline.ts";

/** The options of a list. */
export interface ListRequest {
  /** 0 means everything in one chunk. */
  readonly limit: number;
  /** From the previous chunk; "" for the first. */
  readonly token: string;
  /** The exact revision to read at. */
  readonly exactly: number | undefined;
  /** A state at least as new as this; 0 accepts any. */
  readonly atLeast: number;
}

export interface WatchRequest {
  /** `start`: send the current state first. `now`: only new changes. A number: changes after it. */
  readonly from: number | "start" | "now";
  /** The initial state is at least as new as this; 0 accepts any. */
  readonly atLeast: number;
  readonly bookmarks: boolean;
  /** A bookmark marks the end of the initial state. */
  readonly markInitial: boolean;
  readonly timeoutMs: number | undefined;
}

export function listRequest(query: URLSearchParams): ListRequest {
  const faults = [...listFaults(query)];
  if (faults.length > 0) throw optionsFault("ListOptions", faults);
  const limit = Math.max(wholeNumber(query, "limit"), 0);
  wholeNumber(query, "timeoutSeconds");
  const token = query.get("continue") ?? "";
  const asked = query.get("resourceVersion") ?? "";
  if (token && asked && asked !== "0")
    throw badRequest("specifying resource version is not allowed when using continue");
  const revision = revisionOf(asked);
  const match = query.get("resourceVersionMatch");
  // A first chunk at a revision means exactly that state, which was so before resourceVersionMatch existed.
  const isExact = match === "Exact" || (!match && limit > 0 && revision > 0);
  if (isExact) return { limit, token, exactly: revision, atLeast: 0 };
  // Any state is good enough for revision 0, so one response is cheapest: upstream ignores the limit here too.
  return { limit: asked === "0" && !token ? 0 : limit, token, exactly: undefined, atLeast: revision };
}

function* listFaults(query: URLSearchParams): Iterable<FieldError> {
  const match = query.get("resourceVersionMatch") ?? "";
  const asked = query.get("resourceVersion") ?? "";
  if (match) {
    if (!asked) yield forbiddenValue(matchPath, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (query.get("continue"))
      yield forbiddenValue(matchPath, "resourceVersionMatch is forbidden when continue is provided");
    if (match !== "Exact" && match !== "NotOlderThan")
      yield unsupportedValue(matchPath, match, ["Exact", "NotOlderThan", ""]);
    if (match === "Exact" && asked === "0")
      yield forbiddenValue(matchPath, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (query.has("sendInitialEvents"))
    yield forbiddenValue(root.child("sendInitialEvents"), "sendInitialEvents is forbidden for list");
}

export function watchRequest(query: URLSearchParams): WatchRequest {
  const faults = [...watchFaults(query)];
  if (faults.length > 0) throw optionsFault("ListOptions", faults);
  const revision = revisionOf(query.get("resourceVersion") ?? "");
  const bookmarks = isSet(query, "allowWatchBookmarks");
  const initial = query.get("sendInitialEvents");
  const sendsInitial = initial === null ? revision === 0 : isTrue(initial);
  const timeoutMs = wholeNumber(query, "timeoutSeconds") * 1000;
  return {
    from: sendsInitial ? "start" : revision === 0 ? "now" : revision,
    atLeast: sendsInitial ? revision : 0,
    bookmarks,
    markInitial: bookmarks && initial !== null && sendsInitial,
    timeoutMs: timeoutMs > 0 ? Math.min(timeoutMs, maxTimeoutMs) : undefined,
  };
}
/** The longest time that timers support. */
const maxTimeoutMs = 2 ** 31 - 1;

function* watchFaults(query: URLSearchParams): Iterable<FieldError> {
  const match = query.get("resourceVersionMatch") ?? "";
  const hasInitial = query.has("sendInitialEvents");
  if (query.get("continue"))
    yield forbiddenValue(matchPath, "resourceVersionMatch is forbidden when continue is provided");
  if (hasInitial && match !== "NotOlderThan")
    yield forbiddenValue(matchPath, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (!match) return;
  if (!hasInitial)
    yield forbiddenValue(matchPath, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (match !== "NotOlderThan") yield unsupportedValue(matchPath, match, ["NotOlderThan"]);
}
const matchPath = root.child("resourceVersionMatch");

export function selectionOf({ info, query }: Context, resource: Resource): Selection {
  const fieldSelector = query.get("fieldSelector") ?? "";
  const byName = info.name ? `metadata.name=${info.name}` : "";
  return select(resource, info.namespace, {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: [fieldSelector, byName].filter(Boolean).join(","),
  });
}

/** 0 for "" and for "0", which both mean no particular revision. */
export function revisionOf(text: string): number {
  if (text === "") return 0;
  const revision = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(revision))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return revision;
}

function wholeNumber(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (!text) return 0;
  const number = Number(text);
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw notANumber(text);
}
