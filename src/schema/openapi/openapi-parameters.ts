import { createHash } from "node:crypto";
import { type Flavor, type Json } from "./openapi-definitions.ts";

/** What a request takes in its path or query. */
export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "boolean" | "integer";
  readonly description: string;
}
const query = (name: string, type: Parameter["type"], description: string): Parameter => ({
  name,
  in: "query",
  type,
  description,
});
export const inPath = (name: string, description: string): Parameter => ({
  name,
  in: "path",
  type: "string",
  description,
});

export const pretty = query("pretty", "string", "Whether to indent the response, so that people can read it.");
const dryRun = query("dryRun", "string", "Set to All to run every step of the request without storing the result.");
const fieldManager = query(
  "fieldManager",
  "string",
  "The name of the program or person that makes the change. Required for apply.",
);
const fieldValidation = query(
  "fieldValidation",
  "string",
  "How the server handles unknown and duplicate fields: Ignore, Warn or Strict.",
);
const force = query("force", "boolean", "Whether to take over fields that other managers own. Only for apply.");
const selection = [
  query("continue", "string", "The continue token from the previous page of the list."),
  query("fieldSelector", "string", "Selects objects by the values of their fields."),
  query("labelSelector", "string", "Selects objects by their labels."),
  query("limit", "integer", "The maximum number of items in one page of the list."),
  query("resourceVersion", "string", "The resourceVersion to list at, or to start the watch from."),
  query("resourceVersionMatch", "string", "How resourceVersion is applied to a list: Exact or NotOlderThan."),
  query("sendInitialEvents", "boolean", "Whether the watch first sends an ADDED event for every existing object."),
  query("shardSelector", "string", "Selects a share of the objects. Ignored, because sharded lists are not enabled."),
  query("timeoutSeconds", "integer", "The number of seconds after which the server ends the list or watch."),
];
export const listParameters = [
  query(
    "allowWatchBookmarks",
    "boolean",
    "Whether the watch also sends BOOKMARK events, which carry only the latest resourceVersion.",
  ),
  ...selection,
  query("watch", "boolean", "Whether to stream changes as they happen instead of returning a list."),
];
export const deleteParameters = [
  dryRun,
  query("gracePeriodSeconds", "integer", "The number of seconds the object has to terminate before it is deleted."),
  query(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "boolean",
    "Whether to delete an object that cannot be read from the store, ignoring its finalizers.",
  ),
  query(
    "orphanDependents",
    "boolean",
    "Deprecated: use propagationPolicy. Whether objects that this one owns are kept.",
  ),
  query(
    "propagationPolicy",
    "string",
    "What happens to the objects that this one owns: Foreground, Background or Orphan.",
  ),
];
export const deleteCollectionParameters = [...deleteParameters, ...selection];
export const writeParameters = [dryRun, fieldManager, fieldValidation];
export const patchParameters = [...writeParameters, force];

const streams = [
  query("container", "string", "The container. Required if the pod has more than one."),
  query("stderr", "boolean", "Whether to receive what the process writes to its standard error."),
  query("stdin", "boolean", "Whether to send to the standard input of the process."),
  query("stdout", "boolean", "Whether to receive what the process writes to its standard output."),
  query("tty", "boolean", "Whether the process has a terminal."),
];
const target = query("path", "string", "The path of the request that is forwarded.");

/** What the subresources take that are no objects, by their name. */
export const optionsOf: Readonly<Record<string, readonly Parameter[]>> = {
  attach: streams,
  exec: [query("command", "string", "The program and its arguments. No shell is involved."), ...streams],
  portforward: [query("ports", "integer", "The ports to forward. Required for WebSockets.")],
  proxy: [target],
  log: [
    query("container", "string", "The container whose log is read. Required if the pod has more than one."),
    query("follow", "boolean", "Whether to stream the log as it grows."),
    query(
      "insecureSkipTLSVerifyBackend",
      "boolean",
      "Whether to accept a kubelet whose certificate cannot be verified.",
    ),
    query("limitBytes", "integer", "The number of bytes after which the log ends."),
    pretty,
    query("previous", "boolean", "Whether to read the log of the container that ran before."),
    query("sinceSeconds", "integer", "The age of the oldest line, in seconds."),
    query("stream", "string", "Which lines to read: All, Stdout or Stderr."),
    query("tailLines", "integer", "The number of lines to read, counted from the end of the log."),
    query("timestamps", "boolean", "Whether each line begins with the time when it was written."),
  ],
};

/** The parameters that several operations share, in the v2 document. */
export type SharedParameters = Map<string, Json>;

/** Clients look for these in the operation itself, and the name is described for each kind. */
const inPlace = new Set(["dryRun", "fieldValidation", "name"]);

export function parameterJson(parameter: Parameter, flavor: Flavor, shared: SharedParameters): Json {
  const { name, type, description } = parameter;
  const head = { name, in: parameter.in, description, ...(parameter.in === "path" ? { required: true } : {}) };
  if (flavor === "v3") return { ...head, schema: { type, uniqueItems: true } };
  const whole = { ...head, type, uniqueItems: true };
  return inPlace.has(name) ? whole : sharedJson(whole, shared);
}

/** A reference to a parameter; its name ends in a hash, because parameters of different operations have the same name. */
export function sharedJson(parameter: Json & { readonly name: string }, shared: SharedParameters): Json {
  const text = JSON.stringify(parameter);
  const key = keys.get(text) ?? `${parameter.name}-${hashOf(text)}`;
  keys.set(text, key);
  shared.set(key, parameter);
  return { $ref: `#/parameters/${key}` };
}

/** There are few, and thousands of operations use them. */
const keys = new Map<string, string>();
const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 8);

export const byName = (a: Parameter, b: Parameter): number => (a.name < b.name ? -1 : Number(a.name > b.name));
