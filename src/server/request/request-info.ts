import { badRequest } from "#api/status.ts";
import { verbOfMethod } from "#api/verb.ts";
import { isSet } from "#lib/net/query-flag.ts";
import { type RequestInfo } from "./pipeline.ts";

/** Real names are shorter, and names are looked up before the caller is authenticated. */
const maxPartChars = 2048;
/** The same for a path that is not about a resource. */
const maxPathChars = 8192;

const plainVerb = (method: string): string => verbOfMethod(method) ?? method.toLowerCase();

/**
 * What a method and a path ask for.
 *
 *   /api/v1/namespaces/NS/pods/NAME/log        /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME/SUBRESOURCE
 */
export function parseRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const parts = path.split("/");
  const isCore = parts[1] === "api";
  const at = isCore ? 3 : 4;
  if ((!isCore && parts[1] !== "apis") || parts.length <= at || parts[at] === "") {
    return nonResource(method, path);
  }
  const version = parts[at - 1] ?? "";
  const group = isCore ? "" : (parts[2] ?? "");
  if (!isCore && group === "") return nonResource(method, path);
  const isWatch = parts[at] === "watch" && (parts[at + 1] ?? "") !== "";
  return resourceInfo({ method, path, group, version, parts, at: isWatch ? at + 1 : at, isWatch }, query);
}

interface Split {
  readonly method: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly parts: readonly string[];
  /** The index of the resource among the parts. */
  readonly at: number;
  /** `/api/v1/watch/pods`, the deprecated form. */
  readonly isWatch: boolean;
}

function resourceInfo(split: Split, query: URLSearchParams): RequestInfo {
  const { method, path, group, version, parts, at, isWatch } = split;
  const holder = parts[at] === "namespaces";
  // `namespaces/NS` is an object; `namespaces/NS/pods` is its content, unless it is a subresource.
  const third = parts[at + 2] ?? "";
  const nested = holder && third !== "" && third !== "status" && third !== "finalize";
  const own = nested ? at + 2 : at;
  const resource = decodeSegment(parts[own]);
  const name = decodeSegment(parts[own + 1]);
  const subresource = decodeSegment(parts[own + 2]);
  const namespace = nested || (holder && name) ? decodeSegment(parts[at + 1]) : "";
  if ((nested && namespace === "") || (subresource !== "" && name === "")) return nonResource(method, path);
  const rest =
    parts.length > own + 3
      ? `/${parts
          .slice(own + 3)
          .map(decodeSegment)
          .join("/")}`
      : "";
  if (path.length > maxPartChars && [group, version, resource, name, subresource, namespace].some(isTooLong)) {
    throw badRequest(`a segment of the path is longer than ${maxPartChars} characters`);
  }
  const verb = isWatch && plainVerb(method) === "get" ? "watch" : verbOf(method, name, query);
  return { isResource: true, group, version, resource, name, subresource, namespace, path, rest, verb };
}

function verbOf(method: string, name: string, query: URLSearchParams): string {
  const verb = plainVerb(method);
  if (verb === "delete") return name ? "delete" : "deletecollection";
  if (verb !== "get") return verb;
  if (!name && isSet(query, "watch")) return "watch";
  return name ? "get" : "list";
}

const isTooLong = (part: string): boolean => part.length > maxPartChars;

function nonResource(method: string, path: string): RequestInfo {
  if (path.length > maxPathChars) throw badRequest(`the path is longer than ${maxPathChars} characters`);
  return { ...blankRequestInfo, verb: method === "HEAD" ? "get" : method.toLowerCase(), path };
}

/** An empty request, to be extended. */
export const blankRequestInfo: RequestInfo = {
  isResource: false,
  verb: "",
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  rest: "",
  path: "",
};

/** A part of a path between two slashes. */
export function decodeSegment(part = ""): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(part)} is not valid percent-encoding`);
  }
}
