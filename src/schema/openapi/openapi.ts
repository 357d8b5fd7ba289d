import { type Steps } from "#lib/async/turns.ts";
import { type ObjectSchema } from "../schema.ts";
import { customDefinition } from "./custom-definition.ts";
import { type CommonType, Definitions, type GroupVersionKind, type Json } from "./openapi-definitions.ts";
import { listName, type OpenApiResource } from "./openapi-operations.ts";
import { type SharedParameters } from "./openapi-parameters.ts";
import { pathsOf } from "./openapi-paths.ts";
import { type Root, rootPath, rootsOf, versionRoots } from "./openapi-roots.ts";

export interface OpenApiOptions {
  /** Types that operations use and no resource contains: ListMeta, Status, DeleteOptions, Scale, Eviction… */
  readonly common?: readonly ObjectSchema<unknown>[];
  /** The server's version, as in `v1.36.4`. */
  readonly version?: string;
}

export const securityScheme = {
  type: "apiKey",
  name: "authorization",
  in: "header",
  description: "Bearer token authentication",
};

/** The OpenAPI v3 document of one group and version (`v1`, `apps/v1`), for /openapi/v3/apis/apps/v1. One step per kind. */
export function* openApiV3(
  resources: readonly OpenApiResource[],
  groupVersion: string,
  options: OpenApiOptions = {},
): Steps<Json> {
  const served = resources.filter(({ group, version }) => (group ? `${group}/${version}` : version) === groupVersion);
  const definitions = new Definitions("v3", commonTypes(served, options));
  yield* define(served, definitions);
  const paths = yield* pathsInSteps(served, definitions, () => new Map());
  return documentV3([...versionRoots(served, definitions), ...paths], definitions, options);
}

/** The OpenAPI v3 document of a path that is about no kind, such as `apis/apps` and `version`. */
export function openApiV3Root(root: Root, options: OpenApiOptions = {}): Json {
  const definitions = new Definitions("v3", commonTypes([], options));
  return documentV3([rootPath(root, definitions)], definitions, options);
}

const documentV3 = (
  paths: readonly (readonly [string, Json])[],
  definitions: Definitions,
  options: OpenApiOptions,
): Json => ({
  openapi: "3.0.0",
  info: infoOf(options),
  paths: sorted(paths),
  components: { schemas: definitions.toJson(), securitySchemes: { BearerToken: securityScheme } },
});

/** The OpenAPI v2 document of everything served, for /openapi/v2. One step per kind. */
export function* openApiV2(resources: readonly OpenApiResource[], options: OpenApiOptions = {}): Steps<Json> {
  const definitions = new Definitions("v2", commonTypes(resources, options));
  yield* define(resources, definitions);
  const shared: SharedParameters = new Map();
  const paths = yield* pathsInSteps(resources, definitions, () => shared);
  const roots = rootsOf(resources).map((root) => rootPath(root, definitions));
  yield;
  const versions = versionRoots(resources, definitions);
  yield;
  const allPaths = sorted([...roots, ...versions, ...paths]);
  yield;
  return {
    swagger: "2.0",
    info: infoOf(options),
    paths: allPaths,
    definitions: definitions.toJson(),
    parameters: sorted([...shared]),
    securityDefinitions: { BearerToken: securityScheme },
    security: [{ BearerToken: [] }],
  };
}

function* pathsInSteps(
  resources: readonly OpenApiResource[],
  definitions: Definitions,
  sharedFor: () => SharedParameters,
): Steps<(readonly [string, Json])[]> {
  const paths: (readonly [string, Json])[] = [];
  for (const resource of resources) {
    paths.push(...pathsOf(resource, definitions, sharedFor()));
    yield;
  }
  return paths;
}

export const infoOf = ({ version = "unversioned" }: OpenApiOptions): Json => ({
  title: "Kubernetes",
  version: version.replace(/^v(\d+\.\d+)\..*$/, "$1"),
});
const sorted = (entries: readonly (readonly [string, unknown])[]): Json =>
  Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));

export function* define(resources: readonly OpenApiResource[], definitions: Definitions): Steps<void> {
  if (resources.some(({ verbs }) => verbs.includes("patch")))
    definitions.add("meta/v1.Patch", { type: "object", description: "A change, in one of the patch formats." });
  for (const resource of resources) {
    const { group, version, kind, listKind } = resource;
    if (resource.definition)
      definitions.add(resource.schema.name, customDefinition(resource, resource.definition, definitions));
    else definitions.addObject(resource.schema, [{ group, kind, version }]);
    if (resource.verbs.includes("list")) {
      definitions.add(listName(resource), listDefinition(resource, definitions, { group, kind: listKind, version }));
    }
    yield;
  }
}

/** Every group has these kinds, because every group can be watched and deleted from. */
export const inEveryGroup = new Set(["meta/v1.DeleteOptions", "meta/v1.WatchEvent"]);

export function commonTypes(served: readonly OpenApiResource[], { common = [] }: OpenApiOptions): CommonType[] {
  const groups = new Map(served.map(({ group, version }) => [`${group}/${version}`, { group, version }]));
  groups.delete("/v1");
  const others = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, groupVersion]) => groupVersion);
  return common.map((schema) => {
    const kind = ownKind(schema);
    const isShared = inEveryGroup.has(schema.name);
    const kinds = kind ? [kind, ...(isShared ? others.map((of) => ({ ...of, kind: kind.kind })) : [])] : [];
    return { schema, kinds };
  });
}

/** The common types that are kinds themselves. */
function ownKind({ name, fields }: ObjectSchema<unknown>): GroupVersionKind | undefined {
  const [, group = "", version = "", kind = ""] = /^([^/]*)\/([^.]*)\.(.*)$/.exec(name) ?? [];
  if (!inEveryGroup.has(name) && !("kind" in fields && "apiVersion" in fields)) return undefined;
  return { group: groupNames[group] ?? group, kind, version };
}
const groupNames: Readonly<Record<string, string>> = { meta: "", core: "", authentication: "authentication.k8s.io" };

function listDefinition({ kind, schema }: OpenApiResource, definitions: Definitions, list: GroupVersionKind): Json {
  const metadata = definitions.body("meta/v1.ListMeta");
  const isV3 = definitions.flavor === "v3" && "$ref" in metadata;
  return {
    description: `A list of ${kind} objects.`,
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { type: "string", description: "Group and version of the schema." },
      items: { type: "array", items: definitions.item(schema), description: "The objects." },
      kind: { type: "string", description: "The kind of the list." },
      metadata: { ...(isV3 ? { allOf: [metadata], default: {} } : metadata), description: "What every list has." },
    },
    "x-kubernetes-group-version-kind": [list],
  };
}
