import { TokenRequest } from "#api/authentication/token-request.ts";
import { Scale } from "#api/autoscaling/scale.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { DeleteOptions } from "#api/meta/delete-options.ts";
import { ListMeta } from "#api/meta/object-meta.ts";
import { Status } from "#api/meta/status-kind.ts";
import { Eviction } from "#api/policy/eviction.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";
import { kubernetesVersion } from "#api/version.ts";
import { inSlices } from "#lib/async/turns.ts";
import { openApiV2, openApiV3, openApiV3Root } from "#schema/openapi/openapi.ts";
import { type Json } from "#schema/openapi/openapi-definitions.ts";
import { jsonPartsV2, jsonPartsV3 } from "#schema/openapi/openapi-json-parts.ts";
import { OpenApiParts } from "#schema/openapi/openapi-parts.ts";
import { type Root, rootsOf } from "#schema/openapi/openapi-roots.ts";
import { openApiV2Protobuf, openApiV2ProtobufTypes, protobufPartsV2 } from "#schema/openapi/openapi-v2-protobuf.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type ResourceRegistry } from "../registry.ts";
import { type OpenApiPart, type RemoteRoutes } from "../remote-routes.ts";
import { APIGroup, APIGroupList, APIResourceList, APIVersions, VersionInfo, WatchEvent } from "./discovery-kinds.ts";
import { fingerprint } from "./groups.ts";
import { jsonInTurns } from "./json-in-turns.ts";

export interface OpenApi {
  /** undefined if there is no such document. */
  answer(context: Context, path: string): Answer | undefined | Promise<Answer>;
}

/** Types that operations use, and a kind that other kinds contain. */
const common = [
  ...[ListMeta, Status, DeleteOptions, APIVersions, APIGroupList, APIGroup, APIResourceList, WatchEvent, VersionInfo],
  ...[Scale, Eviction, TokenRequest, PersistentVolumeClaim].map(({ schema }) => schema),
];
export const openApiOptions = {
  common: common as unknown as ObjectSchema<unknown>[],
  version: kubernetesVersion,
};

interface Document {
  readonly body: Uint8Array;
  readonly hash: string;
}

/** The documents for `kubectl explain` and client-side validation; built on first use, and again after a change. */
export function createOpenApi(resources: ResourceRegistry, remote: Pick<RemoteRoutes, "versions">): OpenApi {
  const options = openApiOptions;
  const documents = new Map<string, Built>();
  /** Built once for each state of the kinds that it describes. Requests that come meanwhile wait for it too. */
  const once = async (key: string, hash: string, make: () => Uint8Array | Promise<Uint8Array>): Promise<Document> => {
    const known = documents.get(key);
    if (known?.hash === hash) return { hash, body: await known.body };
    const built = { hash, body: Promise.try(make) };
    documents.set(key, built);
    built.body.catch(() => documents.delete(key));
    return { hash, body: await built.body };
  };
  const writer = createWriter(resources);
  const answerV2 = async ({ headers }: Context["request"]): Promise<Answer> => {
    const others = remote.versions().flatMap(({ openApiV2: said }) => said ?? []);
    const hash = hashOf(resources.all(), others);
    const wantsProtobuf = headers.accept?.includes(openApiV2ProtobufTypes.asked) ?? false;
    if (!wantsProtobuf)
      return found(headers, await once("v2", hash, () => writer.v2("json", others)), "application/json");
    const document = await once("v2 protobuf", hash, () => writer.v2("protobuf", others));
    return found(headers, document, openApiV2ProtobufTypes.answered);
  };
  const answerV3 = async ({ headers }: Context["request"], groupVersion: string): Promise<Answer> => {
    const served = resources.ofGroupVersion(groupVersion);
    return found(
      headers,
      await once(`v3 ${groupVersion}`, hashOf(served), () => writer.v3(served, groupVersion)),
      "application/json",
    );
  };
  const answerRoot = ({ headers }: Context["request"], root: Root): Answer => {
    const body = Buffer.from(JSON.stringify(openApiV3Root(root, options)));
    return found(headers, { body, hash: rootHash }, "application/json");
  };
  resources.subscribe(() => {
    forgetUnserved(documents, resources);
    writer.forgetUnserved();
  });
  return {
    answer({ request }, path) {
      if (path === "/openapi/v2") return answerV2(request);
      if (path === "/openapi/v3") return { type: "value", status: 200, value: { paths: index(resources, remote) } };
      const groupVersion = /^\/openapi\/v3\/(?:api|apis)\/(.+)$/.exec(path)?.[1];
      if (groupVersion && resources.ofGroupVersion(groupVersion).length > 0) return answerV3(request, groupVersion);
      const root = rootsOf(resources.all()).find(({ name }) => path === `/openapi/v3/${name}`);
      return root && answerRoot(request, root);
    },
  };
}

/** Writes documents. What custom kinds add to them is kept, so that the change of one kind takes little time. */
function createWriter(resources: ResourceRegistry) {
  const options = openApiOptions;
  const parts = { json: new OpenApiParts(options, jsonPartsV2), protobuf: new OpenApiParts(options, protobufPartsV2) };
  const ofGroups = new Map<string, OpenApiParts>();
  return {
    async v2(format: "json" | "protobuf", others: readonly OpenApiPart[]): Promise<Uint8Array> {
      if (others.length === 0) return await inSlices(parts[format].document(resources.all()));
      const document = await withOthers(await inSlices(openApiV2(resources.all(), options)), others);
      return format === "json" ? await jsonInTurns(document) : await inSlices(openApiV2Protobuf(document));
    },
    async v3(served: readonly Resource[], groupVersion: string): Promise<Uint8Array> {
      // Groups without custom kinds do not change.
      if (served.every(({ digest }) => digest === undefined))
        return await jsonInTurns(await inSlices(openApiV3(served, groupVersion, options)));
      const known = ofGroups.get(groupVersion) ?? new OpenApiParts(options, jsonPartsV3);
      ofGroups.set(groupVersion, known);
      return await inSlices(known.document(served));
    },
    forgetUnserved(): void {
      for (const groupVersion of ofGroups.keys())
        if (resources.ofGroupVersion(groupVersion).length === 0) ofGroups.delete(groupVersion);
    },
  };
}

/** Our document with what other servers say. */
async function withOthers(own: Json, others: readonly OpenApiPart[]): Promise<Json> {
  const { mergeV2 } = await import("#schema/openapi/merge-v2.ts");
  const parts = others.map(({ part }) => part);
  return await inSlices(mergeV2(own, parts));
}

interface Built {
  readonly hash: string;
  readonly body: Promise<Uint8Array>;
}

/** The documents of groups that are gone would stay for ever. */
function forgetUnserved(documents: Map<string, Built>, resources: ResourceRegistry): void {
  for (const key of documents.keys()) {
    const groupVersion = key.startsWith("v3 ") ? key.slice(3) : undefined;
    if (groupVersion && resources.ofGroupVersion(groupVersion).length === 0) documents.delete(key);
  }
}

/** Changes with what the documents say about these kinds. Our own kinds change with the version alone. */
function hashOf(served: readonly Resource[], others: readonly OpenApiPart[] = []): string {
  const parts = served.map(({ group, version, plural, digest = "" }) => [group, version, plural, digest]);
  const theirs = others.map(({ digest }) => digest);
  return fingerprint(Buffer.from(JSON.stringify([kubernetesVersion, parts, ...theirs])));
}

/** Documents of paths that are about no kind change with the version alone. */
const rootHash = hashOf([]);

/** The paths of each group's document; the hash lets clients cache it for ever. */
function index(resources: ResourceRegistry, remote: Pick<RemoteRoutes, "versions">) {
  const paths: Record<string, { serverRelativeURL: string }> = {};
  for (const { name } of rootsOf(resources.all()))
    paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${rootHash}` };
  for (const resource of resources.all()) {
    const name = pathOf(resource);
    if (paths[name]) continue;
    const hash = hashOf(resources.ofGroupVersion(apiVersionOf(resource)));
    paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` };
  }
  for (const { openApiHash: hash, ...version } of remote.versions()) {
    const name = pathOf(version);
    if (hash) paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` };
  }
  return paths;
}

const pathOf = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group ? `apis/${group}/${version}` : `api/${version}`;

function found(headers: Context["request"]["headers"], { body, hash }: Document, contentType: string): Answer {
  const etag = `"${hash}"`;
  const answerHeaders = { etag, vary: "Accept" };
  if (headers["if-none-match"] === etag)
    return { type: "bytes", status: 304, contentType, body: new Uint8Array(), headers: answerHeaders };
  return { type: "bytes", status: 200, contentType, body, headers: answerHeaders };
}
