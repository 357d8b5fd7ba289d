import assert from "node:assert/strict";
import { type Review, startWebhooks } from "#server/admission/webhooks/webhooks.suite.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { type TestCluster } from "#testing/start-cluster.ts";

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const merge = "application/merge-patch+json";
export const path = (plural: string, version: string) => `/apis/example.com/${version}/namespaces/default/${plural}`;

const text = { type: "string" };
const specOf = (properties: object) => ({
  openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
});
const column = (name: string) => ({ name, type: "string", jsonPath: `.spec.${name}` });

/** `endpoint: a:1` in v1 is `host: a` and `port: "1"` in v2. */
const versions = [
  {
    ...{ name: "v1", served: true, schema: specOf({ endpoint: text, note: text }) },
    ...{ selectableFields: [{ jsonPath: ".spec.endpoint" }], additionalPrinterColumns: [column("endpoint")] },
  },
  {
    ...{ name: "v2", served: true, schema: specOf({ host: text, port: { ...text, default: "80" }, note: text }) },
    ...{ selectableFields: [{ jsonPath: ".spec.host" }], additionalPrinterColumns: [column("host"), column("port")] },
  },
];

export const versionsStoredIn = (stored: string) =>
  versions.map((version) => ({ ...version, storage: version.name === stored }));

/** A definition of `plural` whose objects are stored in v1 and converted at a URL. */
export const definitionOf = (plural: string, clientConfig: object) => ({
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural, kind: `${plural[0]?.toUpperCase()}${plural.slice(1, -1)}` },
    versions: versionsStoredIn("v1"),
    conversion: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } },
  },
});

/** What an honest webhook makes of an object. */
export function honest(object: Review, apiVersion: string): Review {
  const { spec = {}, ...rest } = object;
  const { endpoint = "", host = "", port = "", ...others } = spec;
  const [, before = "", after = ""] = /^(.*):(.*)$/.exec(endpoint) ?? [];
  const made = apiVersion.endsWith("v1") ? { endpoint: `${host}:${port}` } : { host: before, port: after };
  return { ...rest, apiVersion, spec: { ...made, ...others } };
}

export const success = { status: "Success" };

/** A webhook that converts what it is asked, and counts the objects of each call. */
export async function startConverter(convert: (object: Review, apiVersion: string) => Review = honest) {
  const calls: number[] = [];
  const server = await startWebhooks(({ request }) => {
    calls.push(request.objects.length);
    const convertedObjects = request.objects.map((object: Review) => convert(object, request.desiredAPIVersion));
    return { result: success, convertedObjects };
  });
  return Object.assign(server, { calls });
}

export const sender =
  (cluster: TestCluster) =>
  (line: string, body?: object, type = "application/json"): Promise<Said> =>
    ask(cluster.api.server, line, { ...(body ? { body } : {}), headers: { "content-type": type } });

/** Writes a definition and waits until it is served. */
export async function define(cluster: TestCluster, plural: string, clientConfig: object): Promise<void> {
  const said = await sender(cluster)(`POST ${definitions}`, definitionOf(plural, clientConfig));
  assert.equal(said.status, 201, String(said.json.message));
  await cluster.until(async () => (await sender(cluster)(`GET ${path(plural, "v1")}`)).status === 200);
}
