import { decode } from "#schema/json/decode.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";
import { encodeEnvelope } from "#schema/protobuf/protobuf-envelope.ts";
import { type Script, type Step } from "./step.ts";
import { type Target } from "./target.ts";

const protobuf = "application/vnd.kubernetes.protobuf";

/** The same object in every form, and bodies, headers and queries that are none. All are dry runs or reads. */
export function planForms(target: Target): Script {
  const { path, collection, object, resource } = target;
  const at = `${collection}?dryRun=All`;
  const post = (name: string, step: Partial<Step>): Step => ({ name, method: "POST", path: at, body: object, ...step });
  const text = JSON.stringify(object);
  return {
    name: `forms ${path}`,
    steps: [],
    readOnly: [
      ...(resource.isJsonOnly
        ? []
        : [post("protobuf", { body: asProtobuf(target), type: protobuf, accept: protobuf })]),
      post("protobuf answer", { accept: protobuf }),
      post("YAML", { type: "application/yaml" }),
      post("YAML answer", { accept: "application/yaml" }),
      post("bad YAML", { type: "application/yaml", body: "a: b: c" }),
      post("table answer", { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }),
      post("unknown answer", { accept: "text/html" }),
      post("unknown body", { type: "text/plain" }),
      post("CBOR body", { type: "application/cbor" }),
      post("charset", { type: "application/json; charset=utf-8" }),
      post("bad protobuf", { type: protobuf, body: "k8s\0nonsense" }),
      post("no body", { body: "" }),
      post("null", { body: "null" }),
      post("a list", { body: "[]" }),
      post("a text", { body: '"x"' }),
      post("half a body", { body: text.slice(0, text.length / 2) }),
      post("two bodies", { body: `${text}${text}` }),
      post("another kind", { body: { ...object, kind: "Widget" } }),
      post("another version", { body: { ...object, apiVersion: "example.com/v7" } }),
      post("no kind", { body: { ...object, kind: undefined } }),
      post("no kind and version", { body: { ...object, kind: undefined, apiVersion: undefined } }),
      post("a repeated key", { body: text.replace("{", '{"kind":"Again",'), path: `${at}&fieldValidation=Strict` }),
      post("a repeated key, warned", {
        body: text.replace("{", '{"kind":"Again",'),
        path: `${at}&fieldValidation=Warn`,
      }),
      post("a key in capitals", { body: text.replace('"metadata"', '"Metadata"') }),
      post("bad field validation", { path: `${at}&fieldValidation=Maybe` }),
      post("bad dry run", { path: `${collection}?dryRun=Some` }),
      post("bad manager", { path: `${at}&fieldManager=${"x".repeat(200)}` }),
      post("unprintable manager", { path: `${at}&fieldManager=a%00b` }),
      { name: "unknown verb on the collection", method: "PUT", path: collection, body: object },
      {
        name: "patch of the collection",
        method: "PATCH",
        path: collection,
        body: object,
        type: "application/merge-patch+json",
      },
      { name: "post to an object", method: "POST", path, body: object },
      { name: "unknown subresource", method: "GET", path: `${path}/nope` },
      { name: "too long a path", method: "GET", path: `${path}/status/more` },
    ],
  };
}

function asProtobuf({ resource, object }: Target): Uint8Array {
  const { value } = decode(resource.schema, structuredClone(object), { defaults: false });
  return encodeEnvelope(String(object.apiVersion), resource.kind, encodeProtobuf(resource.schema, value));
}
