import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { Reader } from "#lib/proto/protobuf-wire.ts";
import { defaulted, demanded, granular, nullable, optional, required, stated } from "../fields.ts";
import { object, type Schema } from "../schema.ts";
import { any, bytes, int32, intOrString, lazy, listByKey, map, oneOf, quantity, string, time } from "../types.ts";
import { openApiV2, openApiV3 } from "./openapi.ts";
import { definitionName, type Json } from "./openapi-definitions.ts";
import { type OpenApiResource } from "./openapi-operations.ts";
import { openApiV2Protobuf } from "./openapi-v2-protobuf.ts";

interface Tree {
  child?: Tree;
}
const Tree: Schema<Tree> = object("core/v1.Tree", "", {
  child: nullable(
    1,
    lazy(() => Tree),
    "More of it.",
  ),
});
const Port = object("core/v1.ServicePort", "", {
  port: required(1, int32(), "The port."),
  protocol: stated(defaulted(2, oneOf("UDP", "TCP"), "TCP", "The protocol.")),
  weight: defaulted(4, int32(), 7, "How much it counts."),
  targetPort: optional(3, intOrString(), "Where it leads."),
});
const Meta = object("meta/v1.ObjectMeta", "", { creationTimestamp: optional(8, time(), "When.") });
const ListMeta = object("meta/v1.ListMeta", "", { continue: optional(3, string(), "Token.") });
const Service = object("core/v1.Service", "A service.", {
  kind: optional(0, string(), "Kind."),
  metadata: defaulted(1, Meta, {}, "Metadata."),
  ports: optional(2, listByKey("port", Port), "The ports."),
  limits: optional(3, map(quantity()), "Limits."),
  data: granular(optional(4, map(bytes()), "Data.")),
  tree: optional(5, Tree, "A tree."),
  fields: optional(6, any({ name: "meta/v1.FieldsV1" }), "Fields."),
});
const resource: OpenApiResource = {
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  listKind: "ServiceList",
  scope: "Namespaced",
  verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
  schema: Service,
  subresources: [
    { name: "status", verbs: ["get", "patch", "update"] },
    { name: "proxy", verbs: ["get", "create"] },
  ],
};
const options = { common: [ListMeta], version: "v1.2.3" };

/** Follows keys into a document. */
const at = (document: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);

test("definitionName() makes upstream's names", () => {
  assert.equal(definitionName("core/v1.Pod"), "io.k8s.api.core.v1.Pod");
  assert.equal(definitionName("meta/v1.ObjectMeta"), "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  assert.equal(definitionName("runtime.RawExtension"), "io.k8s.apimachinery.pkg.runtime.RawExtension");
  assert.equal(definitionName("stable.example.com/v1.CronTab"), "com.example.stable.v1.CronTab");
});

test("openApiV3() describes the types", () => {
  const document = atOnce(openApiV3([resource], "v1", options));

  const schemas = at(document, "components", "schemas");
  assert.deepEqual(Object.keys(schemas as Json), [
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.core.v1.ServiceList",
    "io.k8s.api.core.v1.ServicePort",
    "io.k8s.api.core.v1.Tree",
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
  ]);
  assert.deepEqual(at(schemas, "io.k8s.api.core.v1.ServicePort"), {
    type: "object",
    properties: {
      port: { type: "integer", format: "int32", description: "The port.", default: 0 },
      protocol: { type: "string", enum: ["TCP", "UDP"], description: "The protocol.", default: "TCP" },
      targetPort: {
        allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString" }],
        description: "Where it leads.",
      },
      weight: { type: "integer", format: "int32", description: "How much it counts." },
    },
    required: ["port"],
  });
  assert.deepEqual(at(schemas, "io.k8s.api.core.v1.Service", "properties", "ports"), {
    type: "array",
    items: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.ServicePort" }], default: {} },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port"],
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "port",
    description: "The ports.",
  });
  const map = at(schemas, "io.k8s.api.core.v1.Service", "properties", "data", "x-kubernetes-map-type");
  assert.equal(map, "granular");
  assert.deepEqual(at(schemas, "io.k8s.api.core.v1.Service", "x-kubernetes-group-version-kind"), [
    { group: "", kind: "Service", version: "v1" },
  ]);
});

test("a field that only the rules of a kind demand is listed as required", () => {
  const schema = object("core/v1.Service", "", { path: demanded(nullable(1, string())), host: nullable(2, string()) });

  const document = atOnce(openApiV3([{ ...resource, schema }], "v1", options));

  assert.deepEqual(at(document, "components", "schemas", "io.k8s.api.core.v1.Service", "required"), ["path"]);
});

test("every field has a text, and a type repeats it only where another field says something else", () => {
  const Spec = object("core/v1.Spec", "What is wanted.", {});
  const Status = object("core/v1.Status", "What is there.", {});
  const schema = object("core/v1.Service", "", {
    spec: optional(1, Spec),
    status: optional(2, Status),
    oldStatus: optional(3, Status, "What was there."),
  });

  const document = atOnce(openApiV3([{ ...resource, schema }], "v1", options));

  const schemas = at(document, "components", "schemas");
  const texts = Object.values(at(schemas, "io.k8s.api.core.v1.Service", "properties") as Json).map((field) =>
    at(field, "description"),
  );
  assert.deepEqual(texts, ["What was there.", "What is wanted.", "What is there."]);
  assert.deepEqual(at(schemas, "io.k8s.api.core.v1.Spec"), { type: "object" });
  assert.deepEqual(at(schemas, "io.k8s.api.core.v1.Status"), { description: "What is there.", type: "object" });
});

test("openApiV3() describes the operations that clients look for", () => {
  const { paths } = atOnce(openApiV3([resource], "v1", options));

  assert.deepEqual(Object.keys(paths as Json), [
    "/api/v1/",
    "/api/v1/namespaces/{namespace}/services",
    "/api/v1/namespaces/{namespace}/services/{name}",
    "/api/v1/namespaces/{namespace}/services/{name}/proxy",
    "/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}",
    "/api/v1/namespaces/{namespace}/services/{name}/status",
    "/api/v1/services",
    "/api/v1/watch/namespaces/{namespace}/services",
    "/api/v1/watch/namespaces/{namespace}/services/{name}",
    "/api/v1/watch/services",
  ]);
  const patch = at(paths, "/api/v1/namespaces/{namespace}/services/{name}", "patch") as Json;
  const { parameters, operationId } = patch as { parameters: { name: string }[]; operationId: string };
  assert.deepEqual(
    parameters.map(({ name }) => name),
    ["dryRun", "fieldManager", "fieldValidation", "force"],
  );
  assert.equal(operationId, "patchCoreV1NamespacedService");
  const all = at(paths, "/api/v1/namespaces/{namespace}/services", "delete") as Json;
  assert.equal(all.operationId, "deleteCoreV1CollectionNamespacedService");
  const ofList = at(paths, "/api/v1/services", "parameters") as { name: string }[];
  assert.ok(ofList.some(({ name }) => name === "labelSelector"));
  assert.equal(at(paths, "/api/v1/services", "get", "parameters"), undefined);
  const proxied = at(paths, "/api/v1/namespaces/{namespace}/services/{name}/proxy", "post", "operationId");
  assert.equal(proxied, "connectCoreV1PostNamespacedServiceProxy");
  assert.equal(patch["x-kubernetes-action"], "patch");
  assert.deepEqual(patch["x-kubernetes-group-version-kind"], { group: "", version: "v1", kind: "Service" });
});

test("the documents offer strategic merge patches and protobuf only for kinds that have them", () => {
  const path = ["paths", "/api/v1/namespaces/{namespace}/services/{name}", "patch"];
  const typesOf = (isJsonOnly: boolean) => {
    const v2 = at(atOnce(openApiV2([{ ...resource, isJsonOnly }], options)), ...path) as Json;
    const v3 = at(atOnce(openApiV3([{ ...resource, isJsonOnly }], "v1", options)), ...path);
    const inV3 = [at(v3, "requestBody", "content"), at(v3, "responses", "200", "content")];
    assert.deepEqual(
      inV3.map((content) => Object.keys(content as Json)),
      [v2.consumes, v2.produces],
    );
    return JSON.stringify([v2.consumes, v2.produces]);
  };

  assert.match(typesOf(false), /strategic-merge-patch.*protobuf/);
  assert.doesNotMatch(typesOf(true), /strategic-merge-patch|protobuf/);
  assert.match(typesOf(true), /merge-patch\+json.*application\/apply-patch\+yaml.*application\/json/);
});

test("openApiV2() refers only to its own definitions", () => {
  const document = atOnce(openApiV2([resource], options));

  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/(definitions|parameters)\/([^"]+)"/g);
  for (const [, section = "", name = ""] of references) assert(at(document, section, name), name);
});

test("a kind with its own OpenAPI schema is described by it", () => {
  const definition = { type: "object", properties: { oneOf: { oneOf: [{ type: "string" }], type: "object" } } };

  const v2 = atOnce(openApiV2([{ ...resource, definition }], options));

  const properties = at(v2, "definitions", "io.k8s.api.core.v1.Service", "properties") as Record<string, unknown>;
  assert.deepEqual(properties.oneOf, { type: "object" });
  assert.ok(properties.metadata);
});

test("openApiV2Protobuf() writes the messages that kubectl reads", () => {
  const steps = openApiV2Protobuf(atOnce(openApiV2([resource], options)));
  assert.equal(steps.next().done, false);
  const bytes = atOnce(steps);

  const fields = new Map<number, Uint8Array>();
  const reader = new Reader(bytes);
  while (!reader.done) {
    const field = reader.key() >>> 3;
    fields.set(field, Buffer.concat([fields.get(field) ?? new Uint8Array(), reader.bytes()]));
  }
  assert.deepEqual(
    [...fields.keys()].sort((a, b) => a - b),
    [1, 2, 8, 9, 10, 12, 13],
  );
  assert.match(Buffer.from(fields.get(9) ?? []).toString(), /io\.k8s\.api\.core\.v1\.ServicePort/);
});

test("openApiV2() describes one kind in each step, so that many kinds hold nobody up", () => {
  const kinds = Array.from({ length: 5 }, (_, n) => ({ ...resource, plural: `things${n}` }));
  const steps = openApiV2(kinds, options);
  let count = 0;
  while (!steps.next().done) count++;
  assert(count >= kinds.length, `${count} steps`);
});
