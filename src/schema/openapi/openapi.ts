import { type ObjectSchema } from "../schema.ts";
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

/** The OpenAPI v3 document of one group and version (`v1`, `apps/v1`), for /openapi/v3/apis/apps/v1. */
export function openApiV3(
  resources: readonly OpenApiResource[],
  groupVersion: string,
  options: OpenApiOptions = {},
): Json {
  const served = resources.filter(({ group, version }) => (group ? `${group}/${version}` : version) === groupVersion);
  const definitions = new Definitions("v3");
  define(served, definitions, options.common ?? []);
  const paths = served.flatMap((resource) => pathsOf(resource, definitions, new Map()));
  return {
    openapi: "3.0.0",
    info: infoOf(options),
    paths: sorted(paths),
    components: { schemas: definitions.toJson(), securitySchemes: { BearerToken: securityScheme } },
  };
}

/** The OpenAPI v2 document of everything served, for /openapi/v2. */
export function openApiV2(resources: readonly OpenApiResource[], options: OpenApiOptions = {}): Json {
  const definitions = new Definitions("v2");
  define(resources, definitions, options.common ?? []);
  const shared: SharedParameters = new Map();
  const paths = resources.flatMap((resource) => pathsOf(resource, definitions, shared));
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

function define(
  resources: readonly OpenApiResource[],
  definitions: Definitions,
  common: readonly ObjectSchema<unknown>[],
): void {
  for (const schema of common) definitions.addObject(schema, commonKinds(schema));
  definitions.add("meta/v1.Patch", { type: "object", description: "A change, in one of the patch formats." });
  for (const resource of resources) {
    const { group, version, kind, listKind } = resource;
    if (resource.definition)
      definitions.add(resource.schema.name, ownDefinition(resource, resource.definition, definitions));
    else definitions.addObject(resource.schema, [{ group, kind, version }]);
    if (resource.verbs.includes("list")) {
      definitions.add(listName(resource), listDefinition(resource, definitions, { group, kind: listKind, version }));
    }
  }
}

/** The common types that are kinds themselves. */
function commonKinds({ name, fields }: ObjectSchema<unknown>): GroupVersionKind[] {
  if (!("kind" in fields) || !("apiVersion" in fields)) return [];
  const [, group = "", version = "", kind = ""] = /^([^/]*)\/([^.]*)\.(.*)$/.exec(name) ?? [];
  return [{ group: group === "meta" || group === "core" ? "" : group, kind, version }];
}

/** The kind's own definition, with the fields of every resource. */
function ownDefinition(
  { group, kind, version, schema }: OpenApiResource,
  definition: Json,
  definitions: Definitions,
): Json {
  const said = definitions.flavor === "v2" ? sayLess(definition) : definition;
  const meta: Json = {};
  for (const name of ["apiVersion", "kind", "metadata"]) {
    const field = schema.fields[name];
    if (field) meta[name] = definitions.property(field);
  }
  return {
    type: "object",
    ...said,
    properties: { ...(said.properties as Json | undefined), ...meta },
    "x-kubernetes-group-version-kind": [{ group, kind, version }],
  };
}

const onlyV3 = new Set(["oneOf", "anyOf", "allOf", "not", "nullable", "default"]);

/** A v3 schema without what v2 cannot express. */
function sayLess(schema: unknown): Json {
  const out: Json = {};
  for (const [key, value] of Object.entries(schema as Json)) {
    if (onlyV3.has(key)) continue;
    if (key === "properties") {
      out[key] = Object.fromEntries(Object.entries(value as Json).map(([name, inner]) => [name, sayLess(inner)]));
    } else out[key] = isSchema(key, value) ? sayLess(value) : value;
  }
  return out;
}

const isSchema = (key: string, value: unknown): boolean =>
  (key === "items" || key === "additionalProperties") && typeof value === "object" && value !== null;

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
