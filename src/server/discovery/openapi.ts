import { DeleteOptions } from "#api/meta/delete-options.ts";
import { ListMeta } from "#api/meta/object-meta.ts";
import { Status } from "#api/meta/status-kind.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";
import { openApiV2, openApiV3 } from "#schema/openapi/openapi.ts";
import { openApiV2Protobuf, openApiV2ProtobufTypes } from "#schema/openapi/openapi-v2-protobuf.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type ResourceRegistry } from "../registry.ts";
import { fingerprint } from "./groups.ts";
import { kubernetesVersion } from "./version.ts";

export interface OpenApi {
  /** undefined if there is no such document. */
  answer(context: Context, path: string): Answer | undefined;
}

interface Document {
  readonly body: Uint8Array;
  readonly hash: string;
}

/** The documents for `kubectl explain` and client-side validation; built on first use. */
export function createOpenApi(resources: ResourceRegistry): OpenApi {
  const options = {
    common: [ListMeta, Status, DeleteOptions] as unknown as ObjectSchema<unknown>[],
    version: kubernetesVersion,
  };
  const documents = new Map<string, { generation: number; document: Document }>();
  const once = (key: string, make: () => Uint8Array): Document => {
    const known = documents.get(key);
    if (known?.generation === resources.generation) return known.document;
    const body = make();
    const document = { body, hash: fingerprint(body) };
    documents.set(key, { generation: resources.generation, document });
    return document;
  };
  const v2 = (): object => openApiV2(resources.all(), options);
  const v3 = (groupVersion: string): Document =>
    once(`v3 ${groupVersion}`, () => json(openApiV3(resources.all(), groupVersion, options)));
  return {
    answer({ request }, path) {
      if (path === "/openapi/v2") {
        const wantsProtobuf = request.headers.accept?.includes(openApiV2ProtobufTypes.asked) ?? false;
        if (!wantsProtobuf)
          return found(
            request.headers,
            once("v2", () => json(v2())),
            "application/json",
          );
        return found(
          request.headers,
          once("v2 protobuf", () => openApiV2Protobuf(v2() as never)),
          openApiV2ProtobufTypes.answered,
        );
      }
      if (path === "/openapi/v3") return { type: "value", status: 200, value: { paths: index(resources, v3) } };
      const groupVersion = /^\/openapi\/v3\/(?:api|apis)\/(.+)$/.exec(path)?.[1];
      if (!groupVersion || resources.ofGroupVersion(groupVersion).length === 0) return undefined;
      return found(request.headers, v3(groupVersion), "application/json");
    },
  };
}

/** The paths of each group's document; the hash lets clients cache it for ever. */
function index(resources: ResourceRegistry, document: (groupVersion: string) => Document) {
  const paths: Record<string, { serverRelativeURL: string }> = {};
  for (const resource of resources.all()) {
    const name = pathOf(resource);
    paths[name] ??= { serverRelativeURL: `/openapi/v3/${name}?hash=${document(apiVersionOf(resource)).hash}` };
  }
  return paths;
}

const pathOf = (resource: Resource): string =>
  resource.group ? `apis/${resource.group}/${resource.version}` : `api/${resource.version}`;

function found(headers: Context["request"]["headers"], { body, hash }: Document, contentType: string): Answer {
  const etag = `"${hash}"`;
  const answerHeaders = { etag, vary: "Accept" };
  if (headers["if-none-match"] === etag)
    return { type: "bytes", status: 304, contentType, body: new Uint8Array(), headers: answerHeaders };
  return { type: "bytes", status: 200, contentType, body, headers: answerHeaders };
}

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
