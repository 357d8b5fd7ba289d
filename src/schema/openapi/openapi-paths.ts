import { type ObjectSchema } from "../schema.ts";
import { type Definitions, type Flavor, type GroupVersionKind, type Json } from "./openapi-definitions.ts";

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
}
export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly body?: GroupVersionKind;
}

interface Parameter {
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
const path = (name: string, description: string): Parameter => ({ name, in: "path", type: "string", description });

const pretty = query("pretty", "string", "Whether to indent the response, so that people can read it.");
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
const listParameters = [
  query(
    "allowWatchBookmarks",
    "boolean",
    "Whether the watch also sends BOOKMARK events, which carry only the latest resourceVersion.",
  ),
  query("continue", "string", "The continue token from the previous page of the list."),
  query("fieldSelector", "string", "Selects objects by the values of their fields."),
  query("labelSelector", "string", "Selects objects by their labels."),
  query("limit", "integer", "The maximum number of items in one page of the list."),
  query("resourceVersion", "string", "The resourceVersion to list at, or to start the watch from."),
  query("resourceVersionMatch", "string", "How resourceVersion is applied to a list: Exact or NotOlderThan."),
  query("sendInitialEvents", "boolean", "Whether the watch first sends an ADDED event for every existing object."),
  query("timeoutSeconds", "integer", "The number of seconds after which the server ends the list or watch."),
  query("watch", "boolean", "Whether to stream changes as they happen instead of returning a list."),
];
const deleteParameters = [
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
const writeParameters = [dryRun, fieldManager, fieldValidation];
const patchParameters = [...writeParameters, force];

/** Clients look for these two in the operation itself, so they are never references. */
const inPlace = new Set(["dryRun", "fieldValidation"]);

const jsonTypes = ["application/json", "application/yaml"];
const mediaTypes = [...jsonTypes, "application/vnd.kubernetes.protobuf"];
const mediaTypesOf = ({ isJsonOnly }: OpenApiResource): readonly string[] => (isJsonOnly ? jsonTypes : mediaTypes);

const strategicType = "application/strategic-merge-patch+json";
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  strategicType,
  "application/apply-patch+yaml",
];
const jsonPatchTypes = patchTypes.filter((type) => type !== strategicType);
/** `kubectl apply` sends a patch of the kind that it finds here. */
const patchTypesOf = ({ isJsonOnly }: OpenApiResource): readonly string[] => (isJsonOnly ? jsonPatchTypes : patchTypes);

/** One verb on one path. */
interface Operation {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly action: string;
  /** First word of the operation's id. */
  readonly word: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** Definition names of the request and response bodies. */
  readonly body?: string;
  readonly answer?: string;
  readonly codes: readonly number[];
}

const descriptions: Readonly<Record<number, string>> = { 200: "OK", 201: "Created", 202: "Accepted" };
const statusName = "meta/v1.Status";
const patchName = "meta/v1.Patch";
const deleteOptionsName = "meta/v1.DeleteOptions";

/** The parameters that several operations share, in the v2 document. */
export type SharedParameters = Map<string, Json>;

/** Every path of a resource with its operations. */
export function pathsOf(
  resource: OpenApiResource,
  definitions: Definitions,
  shared: SharedParameters,
): [string, Json][] {
  const draw = (operations: Operation[], place: Place): Json => pathItem(operations, place, definitions, shared);
  const { group, version, plural, scope, subresources } = resource;
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const isNamespaced = scope === "Namespaced";
  const collection = isNamespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const place: Place = { resource, isNamespaced, isNamed: false, suffix: "", kind: resource };
  const paths: [string, Json][] = [
    [collection, draw(collectionOperations(resource), place)],
    [`${collection}/{name}`, draw(itemOperations(resource), { ...place, isNamed: true })],
  ];
  if (isNamespaced && resource.verbs.includes("list")) {
    const everywhere = collectionOperations(resource).filter(({ action }) => action === "list");
    paths.push([`${root}/${plural}`, draw(everywhere, { ...place, isNamespaced: false, suffix: "ForAllNamespaces" })]);
  }
  for (const subresource of subresources) {
    const suffix = subresource.name.charAt(0).toUpperCase() + subresource.name.slice(1);
    const at = { ...place, isNamed: true, suffix, kind: subresource.body ?? resource };
    paths.push([`${collection}/{name}/${subresource.name}`, draw(subresourceOperations(resource, subresource), at)]);
  }
  return paths.filter(([, item]) => Object.keys(item).length > 1);
}

function collectionOperations(resource: OpenApiResource): Operation[] {
  const { kind, schema, verbs } = resource;
  const all: [string, Operation][] = [
    [
      "list",
      operation("get", "list", "list", `list or watch objects of kind ${kind}`, listParameters, [200], {
        answer: listName(resource),
      }),
    ],
    [
      "create",
      operation("post", "post", "create", `create a ${kind}`, writeParameters, [200, 201, 202], {
        body: schema.name,
        answer: schema.name,
      }),
    ],
    [
      "deletecollection",
      operation(
        "delete",
        "deletecollection",
        "delete",
        `delete collection of ${kind}`,
        [...deleteParameters, ...listParameters.slice(1, 8)],
        [200],
        {
          body: deleteOptionsName,
          answer: statusName,
        },
      ),
    ],
  ];
  return all.filter(([verb]) => verbs.includes(verb)).map(([, made]) => made);
}

function itemOperations({ kind, schema, verbs }: OpenApiResource): Operation[] {
  const { name } = schema;
  const all: [string, Operation][] = [
    ["get", operation("get", "get", "read", `read the specified ${kind}`, [], [200], { answer: name })],
    [
      "update",
      operation("put", "put", "replace", `replace the specified ${kind}`, writeParameters, [200, 201], {
        body: name,
        answer: name,
      }),
    ],
    [
      "patch",
      operation("patch", "patch", "patch", `partially update the specified ${kind}`, patchParameters, [200, 201], {
        body: patchName,
        answer: name,
      }),
    ],
    [
      "delete",
      operation("delete", "delete", "delete", `delete a ${kind}`, deleteParameters, [200, 202], {
        body: deleteOptionsName,
        answer: statusName,
      }),
    ],
  ];
  return all.filter(([verb]) => verbs.includes(verb)).map(([, made]) => made);
}

/** Subresources that take over the connection. */
const connects = new Set(["exec", "attach", "portforward", "proxy"]);

function subresourceOperations(resource: OpenApiResource, { name, verbs, body }: OpenApiSubresource): Operation[] {
  if (connects.has(name) || name === "log") {
    const action = name === "log" ? "get" : "connect";
    const make = (method: "get" | "post", word: string): Operation =>
      operation(method, action, word, `${action} ${name} of ${resource.kind}`, [], [200], {});
    return [
      ...(verbs.includes("get") ? [make("get", name === "log" ? "read" : "connectGet")] : []),
      ...(verbs.includes("create") ? [make("post", "connectPost")] : []),
    ];
  }
  const type = body ? bodyName(body) : resource.schema.name;
  const about = `${name} of the specified ${resource.kind}`;
  const all: [string, Operation][] = [
    ["get", operation("get", "get", "read", `read ${about}`, [], [200], { answer: type })],
    [
      "update",
      operation("put", "put", "replace", `replace ${about}`, writeParameters, [200, 201], { body: type, answer: type }),
    ],
    [
      "patch",
      operation("patch", "patch", "patch", `partially update ${about}`, patchParameters, [200, 201], {
        body: patchName,
        answer: type,
      }),
    ],
    [
      "create",
      operation("post", "post", "create", `create ${about}`, writeParameters, [200, 201, 202], {
        body: type,
        answer: type,
      }),
    ],
  ];
  return all.filter(([verb]) => verbs.includes(verb)).map(([, made]) => made);
}

function operation(
  method: Operation["method"],
  action: string,
  word: string,
  description: string,
  parameters: readonly Parameter[],
  codes: readonly number[],
  types: Pick<Operation, "body" | "answer">,
): Operation {
  return { method, action, word, description, parameters, codes, ...types };
}

export const listName = ({ schema }: OpenApiResource): string => `${schema.name}List`;
/** `autoscaling/v1.Scale`: the package is the first part of the group. */
const bodyName = ({ group, version, kind }: GroupVersionKind): string =>
  `${group.split(".", 1)[0] || "core"}/${version}.${kind}`;

interface Place {
  readonly resource: OpenApiResource;
  readonly isNamespaced: boolean;
  readonly isNamed: boolean;
  /** Last word of the operations' ids. */
  readonly suffix: string;
  /** The kind of the request and response bodies. */
  readonly kind: GroupVersionKind;
}

function pathItem(operations: Operation[], place: Place, definitions: Definitions, shared: SharedParameters): Json {
  const { resource, isNamespaced, isNamed } = place;
  const parameters = [
    ...(isNamed ? [path("name", `name of the ${resource.kind}`)] : []),
    ...(isNamespaced ? [path("namespace", "the namespace of the object")] : []),
    pretty,
  ];
  const made = operations.map((each) => [each.method, operationJson(each, place, definitions, shared)]);
  return {
    ...Object.fromEntries(made),
    parameters: parameters.map((parameter) => parameterJson(parameter, definitions.flavor, shared)),
  };
}

function operationJson(made: Operation, place: Place, definitions: Definitions, shared: SharedParameters): Json {
  const { resource, isNamespaced, suffix, kind } = place;
  const { flavor } = definitions;
  const scope = isNamespaced ? "Namespaced" : "";
  const many = made.action === "deletecollection" ? "Collection" : "";
  const parameters = made.parameters.map((parameter) => parameterJson(parameter, flavor, shared));
  const body = made.body ? typeJson(made.body, definitions) : undefined;
  const isRequired = made.body !== deleteOptionsName;
  const consumes = made.method === "patch" ? patchTypesOf(resource) : ["*/*"];
  return {
    description: made.description,
    operationId: `${made.word}${groupTitle(resource)}${many}${scope}${resource.kind}${suffix}`,
    tags: [groupTag(resource)],
    ...(flavor === "v2"
      ? {
          consumes,
          produces: mediaTypesOf(resource),
          schemes: ["https"],
          parameters: [
            ...(body ? [{ in: "body", name: "body", required: isRequired, schema: body }] : []),
            ...parameters,
          ],
        }
      : {
          parameters,
          ...(body ? { requestBody: { content: content(consumes, body), required: isRequired } } : {}),
        }),
    responses: responsesJson(made, mediaTypesOf(resource), definitions),
    "x-kubernetes-action": made.action,
    "x-kubernetes-group-version-kind": { group: kind.group, version: kind.version, kind: kind.kind },
  };
}

const content = (types: readonly string[], schema: Json): Json =>
  Object.fromEntries(types.map((type) => [type, { schema }]));

/** A name that the document does not define is described only as an object. */
const typeJson = (name: string, definitions: Definitions): Json =>
  definitions.has(name) ? definitions.refer(name) : { type: "object" };

function responsesJson({ answer, codes }: Operation, produces: readonly string[], definitions: Definitions): Json {
  const schema = answer ? typeJson(answer, definitions) : { type: "string" };
  const types = answer ? produces : ["*/*"];
  const typed = definitions.flavor === "v2" ? { schema } : { content: content(types, schema) };
  const responses = codes.map((code) => [String(code), { description: descriptions[code], ...typed }] as const);
  return Object.fromEntries([...responses, ["401", { description: "Unauthorized" }] as const]);
}

function parameterJson(parameter: Parameter, flavor: Flavor, shared: SharedParameters): Json {
  const { name, type, description } = parameter;
  const head = { name, in: parameter.in, description, ...(parameter.in === "path" ? { required: true } : {}) };
  if (flavor === "v3") return { ...head, schema: { type, uniqueItems: true } };
  const whole = { ...head, type, uniqueItems: true };
  if (inPlace.has(name) || name === "name") return whole;
  shared.set(name, whole);
  return { $ref: `#/parameters/${name}` };
}

/**
 * `rbac.authorization.k8s.io/v1` becomes `RbacAuthorizationV1` in operation ids and `rbacAuthorization_v1` as a tag.
 */
const groupWords = (group: string): string[] => (group ? group.replace(/\.k8s\.io$/, "").split(/[.-]/) : ["core"]);
const title = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const groupTitle = ({ group, version }: OpenApiResource): string =>
  groupWords(group).map(title).join("") + title(version);
function groupTag({ group, version }: OpenApiResource): string {
  const [first = "", ...others] = groupWords(group);
  return `${first}${others.map(title).join("")}_${version}`;
}
