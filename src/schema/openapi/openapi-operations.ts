import { type ObjectSchema } from "../schema.ts";
import { type GroupVersionKind, type Json } from "./openapi-definitions.ts";
import {
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  optionsOf,
  type Parameter,
  patchParameters,
  pretty,
  writeParameters,
} from "./openapi-parameters.ts";

/** The part of a Resource that a document describes. */
export interface OpenApiResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly listKind: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly verbs: readonly string[];
  readonly schema: ObjectSchema<unknown>;
  readonly subresources: readonly OpenApiSubresource[];
  /** Ready-made OpenAPI v3, for kinds that come with it instead of a schema of ours. */
  readonly definition?: Json;
  /** It has neither protobuf nor strategic merge patches. */
  readonly isJsonOnly?: boolean;
  /** A deletion answers with the object instead of a Status. */
  readonly returnsDeleted?: boolean;
}
export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly body?: GroupVersionKind;
}

/** One verb on one path. */
export interface Operation {
  readonly method: "get" | "post" | "put" | "patch" | "delete" | "options" | "head";
  readonly action: string;
  /** First word of the operation's id. */
  readonly word: string;
  /** What its id has between the group and the kind. */
  readonly middle?: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** Definition names of the request and response bodies. */
  readonly body?: string;
  readonly answer?: string;
  readonly codes: readonly number[];
}

const statusName = "meta/v1.Status";
export const watchEventName = "meta/v1.WatchEvent";
export const patchName = "meta/v1.Patch";
export const deleteOptionsName = "meta/v1.DeleteOptions";

export const listName = ({ schema }: OpenApiResource): string => `${schema.name}List`;
/** `autoscaling/v1.Scale`: the package is the first part of the group. */
const bodyName = ({ group, version, kind }: GroupVersionKind): string =>
  `${group.split(".", 1)[0] || "core"}/${version}.${kind}`;

type ByVerb = readonly [verb: string, operation: Operation];
const allowed = (verbs: readonly string[], all: readonly ByVerb[]): Operation[] =>
  all.filter(([verb]) => verbs.includes(verb)).map(([, operation]) => operation);

export function collectionOperations(resource: OpenApiResource): Operation[] {
  const { kind, schema, verbs } = resource;
  const both = { body: schema.name, answer: schema.name };
  return allowed(verbs, [
    ["list", listOperation(resource)],
    ["create", writing("post", "post", "create", `create a ${kind}`, [200, 201, 202], both)],
    [
      "deletecollection",
      {
        method: "delete",
        action: "deletecollection",
        word: "delete",
        middle: "Collection",
        description: `delete collection of ${kind}`,
        parameters: [...deleteCollectionParameters, pretty],
        codes: [200],
        body: deleteOptionsName,
        answer: statusName,
      },
    ],
  ]);
}

export const listOperation = (resource: OpenApiResource): Operation => ({
  method: "get",
  action: "list",
  word: "list",
  description: `list or watch objects of kind ${resource.kind}`,
  parameters: [...listParameters, pretty],
  codes: [200],
  answer: listName(resource),
});

/** The deprecated paths for watches. */
export const watchOperation = ({ kind }: OpenApiResource, isOfList: boolean): Operation => ({
  method: "get",
  action: isOfList ? "watchlist" : "watch",
  word: "watch",
  description: `watch ${isOfList ? "a list of " : ""}${kind} objects. Deprecated: use the watch parameter of a list.`,
  parameters: [...listParameters, pretty],
  codes: [200],
  answer: watchEventName,
});

export function itemOperations({ kind, schema, verbs, returnsDeleted }: OpenApiResource): Operation[] {
  const { name } = schema;
  return allowed(verbs, [
    ["get", reading(`read the specified ${kind}`, name)],
    [
      "update",
      writing("put", "put", "replace", `replace the specified ${kind}`, [200, 201], { body: name, answer: name }),
    ],
    ["patch", patching(`partially update the specified ${kind}`, name)],
    [
      "delete",
      {
        method: "delete",
        action: "delete",
        word: "delete",
        description: `delete a ${kind}`,
        parameters: [...deleteParameters, pretty],
        codes: [200, 202],
        body: deleteOptionsName,
        answer: returnsDeleted ? name : statusName,
      },
    ],
  ]);
}

/** Subresources that take over the connection. */
const connects = new Set(["exec", "attach", "portforward", "proxy"]);

export function subresourceOperations(resource: OpenApiResource, subresource: OpenApiSubresource): Operation[] {
  const { name, verbs, body } = subresource;
  if (connects.has(name)) return connections(resource, subresource);
  if (name === "log") return [logOperation(resource)];
  const type = body ? bodyName(body) : resource.schema.name;
  const about = `${name} of the specified ${resource.kind}`;
  const both = { body: type, answer: type };
  return allowed(verbs, [
    ["get", reading(`read ${about}`, type)],
    ["update", writing("put", "put", "replace", `replace ${about}`, [200, 201], both)],
    ["patch", patching(`partially update ${about}`, type)],
    ["create", writing("post", "post", "create", `create ${about}`, [200, 201, 202], both)],
  ]);
}

const methodsOf: Readonly<Record<string, Operation["method"]>> = {
  get: "get",
  create: "post",
  update: "put",
  patch: "patch",
  delete: "delete",
};

function connections({ kind }: OpenApiResource, { name, verbs }: OpenApiSubresource): Operation[] {
  const methods = verbs.flatMap((verb) => methodsOf[verb] ?? []);
  const isForAll = name === "proxy";
  const all: readonly Operation["method"][] = isForAll ? [...methods, "head", "options"] : methods;
  return all.map((method) => ({
    method,
    action: "connect",
    word: "connect",
    middle: method.charAt(0).toUpperCase() + method.slice(1),
    description: `connect ${method.toUpperCase()} requests to ${name} of ${kind}`,
    parameters: optionsOf[name] ?? [],
    codes: [200],
  }));
}

const logOperation = ({ kind }: OpenApiResource): Operation => ({
  method: "get",
  action: "get",
  word: "read",
  description: `read the log of the specified ${kind}`,
  parameters: optionsOf.log ?? [],
  codes: [200],
});

const reading = (description: string, answer: string): Operation => ({
  method: "get",
  action: "get",
  word: "read",
  description,
  parameters: [pretty],
  codes: [200],
  answer,
});

const patching = (description: string, answer: string): Operation => ({
  method: "patch",
  action: "patch",
  word: "patch",
  description,
  parameters: [...patchParameters, pretty],
  codes: [200, 201],
  body: patchName,
  answer,
});

function writing(
  method: Operation["method"],
  action: string,
  word: string,
  description: string,
  codes: readonly number[],
  types: Pick<Operation, "body" | "answer">,
): Operation {
  return { method, action, word, description, parameters: [...writeParameters, pretty], codes, ...types };
}
