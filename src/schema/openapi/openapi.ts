import { type Steps } from "#lib/async/turns.ts";
import { type ObjectSchema } from "../schema.ts";
import { customDefinition } from "./custom-definition.ts";
import { Definitions, type GroupVersionKind, type Json } from "./openapi-definitions.ts";
import { listName, type OpenApiResource, pathsOf, type SharedParameters } from "./openapi-paths.ts";

export interface OpenApiOptions {
  /** Types that operations use and no resource contains: ListMeta, Status, DeleteOptions, Scale, Eviction… */
  readonly common?: readonly ObjectSchema<unknown>[];
  /** The server's version, as in `v1.36.4`. */
  readonly version?: string;
}

const securityScheme = {
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
  const definitions = new Definitions("v3");
  yield* define(served, definitions, options.common ?? []);
  const paths = served.flatMap((resource) => pathsOf(resource, definitions, new Map()));
  yield;
  return {
    openapi: "3.0.0",
    info: infoOf(options),
    paths: sorted(paths),
    components: { schemas: definitions.toJson(), securitySchemes: { BearerToken: securityScheme } },
  };
}

/** The OpenAPI v2 document of everything served, for /openapi/v2. One step per kind. */
export function* openApiV2(resources: readonly OpenApiResource[], options: OpenApiOptions = {}): Steps<Json> {
  const definitions = new Definitions("v2");
  yield* define(resources, definitions, options.common ?? []);
  const shared: SharedParameters = new Map();
  const paths = resources.flatMap((resource) => pathsOf(resource, definitions, shared));
  yield;
  return {
    swagger: "2.0",
    info: infoOf(options),
    paths: sorted(paths),
    definitions: definitions.toJson(),
    parameters: sorted([...shared]),
    securityDefinitions: { BearerToken: securityScheme },
    security: [{ BearerToken: [] }],
  };
}

const infoOf = ({ version = "unversioned" }: OpenApiOptions): Json => ({ title: "Kubernetes", version });
const sorted = (entries: readonly (readonly [string, unknown])[]): Json =>
  Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));

function* define(
  resources: readonly OpenApiResource[],
  definitions: Definitions,
  common: readonly ObjectSchema<unknown>[],
): Steps<void> {
  for (const schema of common) definitions.addObject(schema, commonKinds(schema));
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

/** The common types that are kinds themselves. */
function commonKinds({ name, fields }: ObjectSchema<unknown>): GroupVersionKind[] {
  if (!("kind" in fields) || !("apiVersion" in fields)) return [];
  const [, group = "", version = "", kind = ""] = /^([^/]*)\/([^.]*)\.(.*)$/.exec(name) ?? [];
  return [{ group: group === "meta" || group === "core" ? "" : group, kind, version }];
}

function listDefinition({ kind, schema }: OpenApiResource, definitions: Definitions, list: GroupVersionKind): Json {
  const metadata = definitions.has("meta/v1.ListMeta") ? definitions.refer("meta/v1.ListMeta") : { type: "object" };
  const isV3 = definitions.flavor === "v3" && "$ref" in metadata;
  return {
    description: `A list of ${kind} objects.`,
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { type: "string", description: "Group and version of the schema." },
      items: { type: "array", items: definitions.refer(schema.name), description: "The objects." },
      kind: { type: "string", description: "The kind of the list." },
      metadata: { ...(isV3 ? { allOf: [metadata] } : metadata), description: "What every list has." },
    },
    "x-kubernetes-group-version-kind": [list],
  };
}
