import { type Definitions, type GroupVersionKind, type Json } from "./openapi-definitions.ts";
import {
  collectionOperations,
  deleteOptionsName,
  itemOperations,
  listOperation,
  type OpenApiResource,
  type OpenApiSubresource,
  type Operation,
  patchName,
  subresourceOperations,
  watchOperation,
} from "./openapi-operations.ts";
import {
  byName,
  inPath,
  type Parameter,
  parameterJson,
  type SharedParameters,
  sharedJson,
} from "./openapi-parameters.ts";

const jsonTypes = ["application/json", "application/yaml"];
const protobufType = "application/vnd.kubernetes.protobuf";
const streamTypes = ["application/json;stream=watch", `${protobufType};stream=watch`];
export const mediaTypes = [...jsonTypes, protobufType];

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

const watched = new Set(["list", "watch", "watchlist"]);

function producedBy({ action, answer }: Operation, { isJsonOnly }: OpenApiResource): readonly string[] {
  const types = isJsonOnly ? jsonTypes : mediaTypes;
  if (action === "connect") return ["*/*"];
  if (answer === undefined) return ["text/plain", ...types];
  if (!watched.has(action)) return types;
  return [...types, ...(isJsonOnly ? streamTypes.slice(0, 1) : streamTypes)];
}

interface Place {
  readonly resource: OpenApiResource;
  readonly isNamespaced: boolean;
  readonly isNamed: boolean;
  /** Last word of the operations' ids. */
  readonly suffix: string;
  /** The kind of the request and response bodies. */
  readonly kind: GroupVersionKind;
  /** What its path takes besides the name and the namespace. */
  readonly extra?: readonly Parameter[];
}

/** Every path of a resource with its operations. */
export function pathsOf(
  resource: OpenApiResource,
  definitions: Definitions,
  shared: SharedParameters,
): [string, Json][] {
  const draw = (operations: Operation[], place: Place): Json => pathItem(operations, place, definitions, shared);
  const { group, version, plural, subresources, verbs } = resource;
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const isNamespaced = resource.scope === "Namespaced";
  const below = isNamespaced ? `namespaces/{namespace}/${plural}` : plural;
  const place: Place = { resource, isNamespaced, isNamed: false, suffix: "", kind: resource };
  const named = { ...place, isNamed: true };
  const everywhere = { ...place, isNamespaced: false, suffix: "ForAllNamespaces" };
  const watches = (isOfList: boolean): Operation[] =>
    verbs.includes("watch") ? [watchOperation(resource, isOfList)] : [];
  const canList = verbs.includes("list");
  const paths: [string, Json][] = [
    [`${root}/${below}`, draw(collectionOperations(resource), place)],
    [`${root}/${below}/{name}`, draw(itemOperations(resource), named)],
    [`${root}/watch/${below}`, draw(watches(true), { ...place, suffix: "List" })],
    [`${root}/watch/${below}/{name}`, draw(verbs.includes("get") ? watches(false) : [], named)],
  ];
  if (isNamespaced && canList) {
    paths.push([`${root}/${plural}`, draw([listOperation(resource)], everywhere)]);
    paths.push([`${root}/watch/${plural}`, draw(watches(true), { ...everywhere, suffix: "ListForAllNamespaces" })]);
  }
  for (const subresource of subresources) paths.push(...subresourcePaths(`${root}/${below}`, subresource, named, draw));
  return paths.filter(([, item]) => Object.keys(item).some((key) => key !== "parameters"));
}

const title = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function* subresourcePaths(
  collection: string,
  subresource: OpenApiSubresource,
  place: Place,
  draw: (operations: Operation[], place: Place) => Json,
): Generator<[string, Json]> {
  const { name } = subresource;
  const operations = subresourceOperations(place.resource, subresource);
  const at = { ...place, suffix: title(name), kind: subresource.body ?? place.resource };
  const path = `${collection}/{name}/${name}`;
  yield [path, draw(operations, at)];
  if (name !== "proxy") return;
  const extra = [inPath("path", "The path of the request that is forwarded.")];
  yield [`${path}/{path}`, draw(operations, { ...at, suffix: "ProxyWithPath", extra })];
}

/** What all operations of a path take is said once, for the path. */
function pathItem(operations: Operation[], place: Place, definitions: Definitions, shared: SharedParameters): Json {
  const { resource, isNamespaced, isNamed, extra = [] } = place;
  const [first, ...others] = operations;
  const common = first?.parameters.filter((one) => others.every(({ parameters }) => parameters.includes(one))) ?? [];
  const parameters = [
    ...(isNamed ? [inPath("name", `name of the ${resource.kind}`)] : []),
    ...(isNamespaced ? [inPath("namespace", "the namespace of the object")] : []),
    ...extra,
    ...common,
  ];
  const made = operations.map((each) => {
    const own = { ...each, parameters: each.parameters.filter((one) => !common.includes(one)) };
    return [each.method, operationJson(own, place, definitions, shared)];
  });
  const sorted = parameters.toSorted(byName).map((parameter) => parameterJson(parameter, definitions.flavor, shared));
  return { ...Object.fromEntries(made), ...(sorted.length > 0 ? { parameters: sorted } : {}) };
}

function operationJson(made: Operation, place: Place, definitions: Definitions, shared: SharedParameters): Json {
  const { resource, isNamespaced, suffix, kind } = place;
  const scope = isNamespaced ? "Namespaced" : "";
  const produces = producedBy(made, resource);
  return {
    description: made.description,
    operationId: `${made.word}${groupTitle(resource)}${made.middle ?? ""}${scope}${resource.kind}${suffix}`,
    tags: [groupTag(resource)],
    ...(definitions.flavor === "v2"
      ? { produces, schemes: ["https"], ...inputV2(made, resource, definitions, shared) }
      : inputV3(made, resource, definitions, shared)),
    responses: responsesJson(made, produces, definitions),
    "x-kubernetes-action": made.action,
    "x-kubernetes-group-version-kind": { group: kind.group, version: kind.version, kind: kind.kind },
  };
}

const consumedBy = ({ body }: Operation, resource: OpenApiResource): readonly string[] =>
  body === patchName ? patchTypesOf(resource) : ["*/*"];

function inputV2(made: Operation, resource: OpenApiResource, definitions: Definitions, shared: SharedParameters): Json {
  const own = made.parameters.toSorted(byName).map((parameter) => parameterJson(parameter, "v2", shared));
  const parameters = [...bodyV2(made, definitions, shared), ...own];
  return { consumes: consumedBy(made, resource), ...(parameters.length > 0 ? { parameters } : {}) };
}

function bodyV2({ body }: Operation, definitions: Definitions, shared: SharedParameters): Json[] {
  if (!body) return [];
  const required = body === deleteOptionsName ? {} : { required: true };
  const whole = { name: "body", in: "body", ...required, schema: definitions.body(body) };
  return [body.startsWith("meta/") ? sharedJson(whole, shared) : whole];
}

function inputV3(made: Operation, resource: OpenApiResource, definitions: Definitions, shared: SharedParameters): Json {
  const parameters = made.parameters.toSorted(byName).map((parameter) => parameterJson(parameter, "v3", shared));
  const required = made.body === deleteOptionsName ? {} : { required: true };
  const schema = made.body ? definitions.body(made.body) : undefined;
  return {
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(schema ? { requestBody: { content: content(consumedBy(made, resource), schema), ...required } } : {}),
  };
}

const content = (types: readonly string[], schema: Json): Json =>
  Object.fromEntries(types.map((type) => [type, { schema }]));

const descriptions: Readonly<Record<number, string>> = { 200: "OK", 201: "Created", 202: "Accepted" };

export function responsesJson(
  { answer, codes }: Pick<Operation, "answer" | "codes">,
  produces: readonly string[],
  definitions: Definitions,
): Json {
  const schema = answer ? definitions.body(answer) : { type: "string" };
  const typed = definitions.flavor === "v2" ? { schema } : { content: content(produces, schema) };
  const responses = codes.map((code) => [String(code), { description: descriptions[code], ...typed }] as const);
  return Object.fromEntries([...responses, ["401", { description: "Unauthorized" }] as const]);
}

/**
 * `rbac.authorization.k8s.io/v1` becomes `RbacAuthorizationV1` in operation ids and `rbacAuthorization_v1` as a tag.
 */
const groupWords = (group: string): string[] => (group ? group.replace(/\.k8s\.io$/, "").split(/[.-]/) : ["core"]);
type Versioned = Pick<OpenApiResource, "group" | "version">;
export const groupTitle = ({ group, version }: Versioned): string =>
  groupWords(group).map(title).join("") + title(version);
export function groupTag({ group, version }: Versioned): string {
  const [first = "", ...others] = groupWords(group);
  return `${first}${others.map(title).join("")}${version ? `_${version}` : ""}`;
}
