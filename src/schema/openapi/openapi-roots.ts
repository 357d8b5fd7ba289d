import { type Definitions, type Json } from "./openapi-definitions.ts";
import { type OpenApiResource } from "./openapi-operations.ts";
import { groupTag, groupTitle, mediaTypes, responsesJson } from "./openapi-paths.ts";

/** A path that is about no kind. */
export interface Root {
  /** `apis/apps`, as the list of documents names it. */
  readonly name: string;
  readonly description: string;
  readonly operationId: string;
  readonly tag: string;
  /** What it answers; absent for a text. */
  readonly answer?: string;
  readonly types: readonly string[];
  readonly takesTypes: boolean;
}

const common: readonly Root[] = [
  {
    name: ".well-known/openid-configuration",
    description: "get the configuration of the issuer of service account tokens",
    operationId: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    types: ["application/json"],
    takesTypes: false,
  },
  {
    name: "api",
    description: "get the versions of the core API",
    operationId: "getCoreAPIVersions",
    tag: "core",
    answer: "meta/v1.APIVersions",
    types: mediaTypes,
    takesTypes: true,
  },
  {
    name: "apis",
    description: "get the groups and their versions",
    operationId: "getAPIVersions",
    tag: "apis",
    answer: "meta/v1.APIGroupList",
    types: mediaTypes,
    takesTypes: true,
  },
  {
    name: "openid/v1/jwks",
    description: "get the public keys that verify service account tokens",
    operationId: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    types: ["application/jwk-set+json"],
    takesTypes: false,
  },
  {
    name: "version",
    description: "get the version of the server",
    operationId: "getCodeVersion",
    tag: "version",
    answer: "version.Info",
    types: ["application/json"],
    takesTypes: true,
  },
];

/** Those of every server, and one for each group. */
export function rootsOf(resources: readonly Pick<OpenApiResource, "group">[]): Root[] {
  const groups = [...new Set(resources.map(({ group }) => group))].filter((group) => group !== "");
  return [...common, ...groups.map(groupRoot)];
}

const groupRoot = (group: string): Root => ({
  name: `apis/${group}`,
  description: "get the versions of a group",
  operationId: `get${groupTitle({ group, version: "" })}APIGroup`,
  tag: groupTag({ group, version: "" }),
  answer: "meta/v1.APIGroup",
  types: mediaTypes,
  takesTypes: true,
});

/** The resources of each group and version. */
export function versionRoots(resources: readonly OpenApiResource[], definitions: Definitions): [string, Json][] {
  const versions = new Map(resources.map(({ group, version }) => [`${group}/${version}`, { group, version }]));
  return [...versions.values()].map(({ group, version }) =>
    rootPath(
      {
        name: group ? `apis/${group}/${version}` : `api/${version}`,
        description: "get the resources of a version of a group",
        operationId: `get${groupTitle({ group, version })}APIResources`,
        tag: groupTag({ group, version }),
        answer: "meta/v1.APIResourceList",
        types: mediaTypes,
        takesTypes: true,
      },
      definitions,
    ),
  );
}

export function rootPath(root: Root, definitions: Definitions): [string, Json] {
  const { name, description, operationId, tag, answer, types, takesTypes } = root;
  const isV2 = definitions.flavor === "v2";
  const operation = {
    description,
    operationId,
    tags: [tag],
    ...(isV2 ? { ...(takesTypes ? { consumes: types } : {}), produces: types, schemes: ["https"] } : {}),
    responses: responsesJson({ codes: [200], ...(answer ? { answer } : {}) }, types, definitions),
  };
  return [`/${name}/`, { get: operation }];
}
