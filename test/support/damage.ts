import { apiVersionOf, type Resource } from "#api/resource.ts";
import { formatYaml } from "#lib/yaml/yaml.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";
import { encodeEnvelope } from "#schema/protobuf/protobuf-envelope.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { arbitrary, type Random } from "#testing/arbitrary.ts";
import { everyKind } from "#testing/every-kind.ts";

/** A request as a careless or hostile client would send it. */
export interface Damaged {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | undefined;
}

/** Whole objects to damage: a few of each resource, in each encoding. */
export interface Sample {
  readonly resource: Resource;
  readonly value: Record<string, unknown>;
  readonly json: Uint8Array;
  readonly yaml: Uint8Array;
  readonly protobuf: Uint8Array;
}

export async function makeSamples(random: Random, each: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const resource of everyKind) {
    for (let i = 0; i < each; i++) samples.push(await makeSample(resource, random, i));
  }
  return samples;
}

async function makeSample(resource: Resource, random: Random, index: number): Promise<Sample> {
  const apiVersion = apiVersionOf(resource);
  const { kind } = resource;
  const made = arbitrary(resource.schema, random) as Record<string, unknown>;
  const metadata = { name: `sample-${index}`, labels: { app: "fuzz" } };
  const value = { ...made, metadata, apiVersion, kind };
  const message = encodeProtobuf(resource.schema as ObjectSchema<unknown>, value);
  return {
    resource,
    value,
    json: Buffer.from(JSON.stringify(value)),
    yaml: Buffer.from(await formatYaml(value)),
    protobuf: encodeEnvelope(apiVersion, kind, message),
  };
}

const jsonTypes = { "content-type": "application/json" };

/** A request that is damaged in one of many ways. */
export function damagedRequest(random: Random, samples: readonly Sample[]): Damaged {
  const sample = random.pick(samples);
  const kind = random.below(12);
  if (kind < 4) return damagedBody(random, sample);
  if (kind < 7) return damagedPatch(random, sample);
  if (kind < 9) return damagedRead(random, sample);
  if (kind < 10) return damagedDelete(random, sample);
  return damagedPath(random, sample);
}

export const pathOf = ({ group, version, plural, scope }: Resource, name = "", subresource = ""): string =>
  [
    group ? `/apis/${group}/${version}` : `/api/${version}`,
    ...(scope === "Namespaced" ? ["namespaces/fuzz"] : []),
    plural,
    ...(name ? [name] : []),
    ...(subresource ? [subresource] : []),
  ].join("/");

function damagedBody(random: Random, sample: Sample): Damaged {
  const encoding = random.pick(["json", "json", "yaml", "protobuf"] as const);
  const name = `sample-${random.below(3)}`;
  const method = random.pick(["POST", "POST", "PUT"]);
  const subresource = method === "PUT" && random.chance(30) ? random.pick(["status", "scale", "resize"]) : "";
  const structural = encoding === "json" && random.chance(60);
  return {
    method,
    path: pathOf(sample.resource, method === "PUT" ? name : "", subresource),
    query: writeQuery(random),
    headers: { "content-type": contentTypes[encoding], ...damagedHeaders(random) },
    body: structural ? damagedJson(random, sample.value) : damagedBytes(random, sample[encoding]),
  };
}
const contentTypes = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
};

/** Well-formed JSON with wrong content. */
function damagedJson(random: Random, value: Record<string, unknown>): Uint8Array {
  const copy = structuredClone(value);
  for (let i = 1 + random.below(3); i > 0; i--) hurt(random, copy);
  return Buffer.from(JSON.stringify(copy));
}

function hurt(random: Random, object: Record<string, unknown>): void {
  let at: Record<string, unknown> = object;
  for (let depth = random.below(6); depth > 0; depth--) {
    const inner = random.pick(Object.keys(at).length > 0 ? Object.keys(at) : [""]);
    const next = at[inner];
    if (typeof next !== "object" || next === null) break;
    at = next as Record<string, unknown>;
  }
  const keys = Object.keys(at);
  const key = random.chance(80) && keys.length > 0 ? random.pick(keys) : random.pick(oddKeys);
  if (random.chance(15)) delete at[key];
  else
    Object.defineProperty(at, key, { value: oddValue(random), enumerable: true, writable: true, configurable: true });
}

const oddKeys = [
  "__proto__",
  "constructor",
  "toString",
  "",
  " ",
  "a.b",
  "a/b",
  "metadata",
  "kind",
  "\u0000",
  "é",
  "f:x",
  "$patch",
];
const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e21,
  "",
  " ",
  "0",
  "-1",
  "1e9999",
  "99999999999999999999",
  "x".repeat(300),
  "\u0000",
  "\ud800",
  "2020-01-01T00:00:00Z",
  "not a time",
  "10Gi",
  "-0.5Ei",
  "1e1000000000",
  "NaN",
  "Infinity",
  "%",
  "../../etc/passwd",
  "a\nb",
  "💥",
  [],
  {},
  [null],
  [[]],
  [{}],
  { "": "" },
  { __proto__: null },
  [1, "a", null],
  { a: { b: { c: { d: {} } } } },
];
const oddValue = (random: Random): unknown => structuredClone(random.pick(oddValues));

/** Flips, drops, doubles, inserts or truncates bytes. */
export function damagedBytes(random: Random, bytes: Uint8Array): Uint8Array {
  let result: Uint8Array = Uint8Array.from(bytes);
  for (let i = 1 + random.below(4); i > 0; i--) {
    const at = random.below(result.length + 1);
    const length = random.below(9);
    switch (random.below(6)) {
      case 0:
        if (at < result.length) result[at] = random.below(256);
        break;
      case 1:
        result = Buffer.concat([result.subarray(0, at), result.subarray(at + length)]);
        break;
      case 2:
        result = Buffer.concat([result.subarray(0, at), result.subarray(at, at + length), result.subarray(at)]);
        break;
      case 3:
        result = Buffer.concat([result.subarray(0, at), Buffer.from(random.pick(oddTexts)), result.subarray(at)]);
        break;
      case 4:
        if (random.chance(40)) result = result.subarray(0, at);
        break;
      default:
        if (at < result.length) result[at] = (result[at] ?? 0) ^ (1 << random.below(8));
    }
  }
  return result;
}
const oddTexts = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  "\\u",
  "\\ud800",
  "null",
  "1e999",
  "-",
  "&a",
  "*a",
  "<<: ",
  "!!binary x",
  "---\n",
  "\t",
  "\n",
  "%",
  "\u0000",
  "\ufeff",
  "k8s\0",
  "\xff",
  "#",
  "|",
  ">",
  "? ",
  "- ",
  "0x",
  "1_000",
  "=",
  "{a: &x {b: *x}}",
];

function damagedPatch(random: Random, sample: Sample): Damaged {
  const type = random.pick(["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]);
  const base = { method: "PATCH", query: writeQuery(random, "fuzzer") };
  const headers = { "content-type": `application/${type}`, ...damagedHeaders(random) };
  const target = random.chance(60) ? "" : random.pick(["status", "scale"]);
  const path = random.chance(70)
    ? pathOf(targetOf(sample), "target", target)
    : pathOf(sample.resource, "sample-0", target);
  return { ...base, path, headers, body: patchBody(random, sample, type) };
}

/** Objects of these resources exist under the name `target`. */
const targetOf = ({ resource }: Sample): Resource =>
  everyKind.find(({ kind }) => kind === targets[resource.kind.length % targets.length]) ?? resource;
export const targets = ["ConfigMap", "Pod", "Deployment", "Service", "Node"];

function patchBody(random: Random, sample: Sample, type: string): Uint8Array {
  if (random.chance(15)) return damagedBytes(random, sample.json);
  if (type === "json-patch+json")
    return Buffer.from(JSON.stringify(Array.from({ length: random.below(5) }, () => operation(random))));
  if (type === "apply-patch+yaml") return damagedJson(random, sample.value);
  return Buffer.from(JSON.stringify(patchObject(random, 0)));
}

const pointers = [
  "",
  "/",
  "/metadata",
  "/metadata/labels",
  "/metadata/labels/a~1b",
  "/metadata/name",
  "/spec",
  "/spec/containers",
  "/spec/containers/0",
  "/spec/containers/-",
  "/spec/containers/99",
  "/spec/containers/-1",
  "/spec/containers/01",
  "/spec/template/spec/containers/0/image",
  "/data/a",
  "/__proto__/x",
  "/constructor/prototype/x",
  "/kind",
  "/apiVersion",
  "/status",
  "no slash",
  "/~",
  "/~2",
  "/metadata/uid",
  "/metadata/managedFields",
  "/metadata/managedFields/0/fieldsV1",
  "/metadata/resourceVersion",
  "/metadata/finalizers/-",
];
const operation = (random: Random): unknown =>
  random.chance(5)
    ? oddValue(random)
    : {
        op: random.pick(["add", "remove", "replace", "move", "copy", "test", "jump", ""]),
        path: random.pick(pointers),
        from: random.pick(pointers),
        value: oddValue(random),
      };

const patchKeys = [
  "metadata",
  "spec",
  "status",
  "data",
  "labels",
  "annotations",
  "containers",
  "template",
  "name",
  "image",
  "ports",
  "$patch",
  "$retainKeys",
  "$setElementOrder/containers",
  "$deleteFromPrimitiveList/finalizers",
  "finalizers",
  "ownerReferences",
  "replicas",
  "selector",
  "type",
  "managedFields",
  "__proto__",
  "volumes",
  "conditions",
  "tolerations",
  "kind",
  "env",
  "taints",
  "uid",
];
function patchObject(random: Random, depth: number): unknown {
  if (depth > 5 || random.chance(20))
    return random.chance(30) ? random.pick(["replace", "delete", "merge"]) : oddValue(random);
  if (random.chance(20)) return Array.from({ length: random.below(4) }, () => patchObject(random, depth + 1));
  const entries = Array.from(
    { length: random.below(5) },
    () => [random.pick(patchKeys), patchObject(random, depth + 1)] as const,
  );
  return Object.fromEntries(entries);
}

const oddSelectors = [
  "",
  "=",
  "==",
  "!=",
  "a",
  "!a",
  "a=b",
  "a==b",
  "a!=b",
  "a in (b,c)",
  "a in ()",
  "a in (",
  "a notin (b",
  "a in b",
  "a>1",
  "a<x",
  "a>",
  "!",
  "!!a",
  ",",
  ",,",
  "a=b,",
  "a=b=c",
  "(",
  ")",
  "a b",
  "é=1",
  "metadata.name=x",
  "metadata.namespace=fuzz",
  "spec.nodeName=",
  "status.phase!=Running",
  "nothing.here=1",
  "metadata.name=a,metadata.name=b",
  "a=\\,b",
  "a=\\",
  "\\",
  "\u0000",
  "a=b\u0000",
  "x".repeat(300),
  `${"a,".repeat(200)}a`,
  "in in (in)",
  "notin",
  "a in (b, , c)",
  "a,b,c",
  "a = b",
  "a\n=b",
  "__proto__=x",
  "constructor",
];
const oddNumbers = [
  "",
  "0",
  "1",
  "-1",
  "1.5",
  "abc",
  "99999999999999999999",
  "9007199254740993",
  "1e3",
  "0x10",
  " 1",
  "+1",
  "NaN",
  "４",
];

function damagedRead(random: Random, sample: Sample): Damaged {
  const query = new URLSearchParams();
  const maybe = (name: string, value: () => string, percent = 30): void => {
    if (random.chance(percent)) query.append(name, value());
  };
  maybe("labelSelector", () => random.pick(oddSelectors), 50);
  maybe("fieldSelector", () => random.pick(oddSelectors), 50);
  maybe("limit", () => random.pick(oddNumbers));
  maybe("continue", () => continueToken(random));
  maybe("resourceVersion", () => random.pick(oddNumbers));
  maybe("resourceVersionMatch", () => random.pick(["Exact", "NotOlderThan", "", "exact", "x"]));
  maybe("watch", () => random.pick(["true", "1", "false", "0", "", "x"]));
  maybe("allowWatchBookmarks", () => random.pick(["true", "false", "", "x"]));
  maybe("sendInitialEvents", () => random.pick(["true", "false", "", "x"]));
  maybe("timeoutSeconds", () => random.pick(oddNumbers));
  maybe("includeObject", () => random.pick(["None", "Metadata", "Object", "x"]));
  const name = random.chance(20) ? random.pick(["target", "sample-0", "x", "%00"]) : "";
  const headers = { ...damagedHeaders(random), ...(random.chance(40) ? { accept: random.pick(oddAccepts) } : {}) };
  return { method: "GET", path: pathOf(sample.resource, name), query: query.toString(), headers, body: undefined };
}

function continueToken(random: Random): string {
  const good = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: random.below(50), start: "fuzz/a\u0000" }));
  const token = Buffer.from(random.chance(30) ? good : damagedBytes(random, good));
  return random.chance(80) ? token.toString(random.pick(["base64url", "base64"])) : random.pick(oddSelectors);
}

const table = "as=Table;v=v1;g=meta.k8s.io";
const partial = "as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const oddAccepts = [
  "",
  "*/*",
  "application/*",
  "application/yaml",
  "text/html",
  "application/json;q=0",
  ";",
  ",",
  ";;q=x",
  `application/json;${table}`,
  `application/yaml;${table}`,
  `application/vnd.kubernetes.protobuf;${table}`,
  `application/json;${partial}`,
  `application/vnd.kubernetes.protobuf;${partial}`,
  `application/json;${partial.replace("Metadata", "MetadataList")}`,
  "application/vnd.kubernetes.protobuf",
  "application/vnd.kubernetes.protobuf;type=watch",
  "application/json;as=Cow;v=v1;g=meta.k8s.io",
  "application/json;as=Table;v=v9;g=meta.k8s.io",
  "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
  "\u0001",
  "é",
];

function damagedHeaders(random: Random): Record<string, string> {
  const headers: Record<string, string> = {};
  if (random.chance(10))
    headers["content-type"] = random.pick([
      "",
      "text/plain",
      "application/json; charset=latin1",
      ";",
      "a/b/c",
      "application/cbor",
    ]);
  if (random.chance(15)) headers.accept = random.pick(oddAccepts);
  if (random.chance(3))
    headers.authorization = random.pick([
      "",
      "Bearer",
      "Bearer x",
      "Bearer a.b.c",
      "Basic eA==",
      "Bearer eyJhbGciOiJub25lIn0.e30.",
    ]);
  if (random.chance(3))
    headers["impersonate-user"] = random.pick([
      "",
      "x",
      "system:serviceaccount:a",
      "system:serviceaccount:a:b",
      "\u0000",
    ]);
  if (random.chance(2)) headers["impersonate-group"] = random.pick(["", "system:masters"]);
  if (random.chance(2)) headers["impersonate-extra-%zz"] = "x";
  if (random.chance(5))
    headers.traceparent = random.pick(["", "00-0-0-0", `00-${"0".repeat(32)}-${"0".repeat(16)}-01`, "x".repeat(500)]);
  if (random.chance(5)) headers["user-agent"] = random.pick(["", "\u0000", "x".repeat(1000), "é/1"]);
  return headers;
}

function writeQuery(random: Random, manager = ""): string {
  const query = new URLSearchParams();
  if (random.chance(70)) query.set("dryRun", "All");
  if (manager && random.chance(80)) query.set("fieldManager", manager);
  if (random.chance(10)) query.append("dryRun", random.pick(["", "all", "None", "All,All"]));
  if (random.chance(10)) query.set("fieldManager", random.pick(["", "x".repeat(200), "\u0000", "é", " "]));
  if (random.chance(15)) query.set("fieldValidation", random.pick(["Strict", "Warn", "Ignore", "strict", ""]));
  if (random.chance(10)) query.set("force", random.pick(["true", "false", "", "x"]));
  if (random.chance(3)) query.set(random.pick(oddKeys), random.pick(oddSelectors));
  return query.toString();
}

function damagedDelete(random: Random, { resource }: Sample): Damaged {
  const query = new URLSearchParams();
  if (random.chance(80)) query.set("dryRun", "All");
  if (random.chance(30)) query.set("propagationPolicy", random.pick(["Orphan", "Background", "Foreground", "x", ""]));
  if (random.chance(30)) query.set("gracePeriodSeconds", random.pick(oddNumbers));
  if (random.chance(20)) query.set("orphanDependents", random.pick(["true", "x"]));
  if (random.chance(30)) query.set("labelSelector", random.pick(oddSelectors));
  const options = {
    kind: random.pick(["DeleteOptions", "Pod", ""]),
    apiVersion: random.pick(["v1", "apps/v1", "policy/v1", "meta.k8s.io/v1", "x/y/z", ""]),
    preconditions: random.pick([oddValue(random), { uid: oddValue(random), resourceVersion: oddValue(random) }]),
    gracePeriodSeconds: oddValue(random),
    propagationPolicy: oddValue(random),
  };
  const json = Buffer.from(JSON.stringify(random.chance(80) ? options : oddValue(random)));
  const body = random.pick([undefined, json, json, damagedBytes(random, json)]);
  const name = random.chance(85) ? random.pick(["sample-0", "sample-1", "x", "%2e%2e", "a%2Fb"]) : "";
  return {
    method: "DELETE",
    path: pathOf(resource, name),
    query: query.toString(),
    headers: { ...jsonTypes, ...damagedHeaders(random) },
    body,
  };
}

const segments = [
  "api",
  "apis",
  "v1",
  "apps",
  "v1beta1",
  "namespaces",
  "fuzz",
  "pods",
  "target",
  "status",
  "log",
  "exec",
  "binding",
  "eviction",
  "proxy",
  "deployments",
  "scale",
  "",
  ".",
  "..",
  "%2e%2e",
  "%",
  "%zz",
  "%00",
  "a%2Fb",
  "%F0%9F%92%A5",
  "x".repeat(300),
  "openapi",
  "v2",
  "v3",
  "version",
  "healthz",
  "readyz",
  "livez",
  "metrics",
  "watch",
  "nodes",
  "finalize",
  "token",
  "serviceaccounts",
  "__proto__",
  "constructor",
  "rbac.authorization.k8s.io",
  "ephemeralcontainers",
  "resize",
  "portforward",
  "attach",
  ".well-known",
  "openid-configuration",
  "é",
  "?",
  "#",
  "selfsubjectaccessreviews",
];
function damagedPath(random: Random, sample: Sample): Damaged {
  const method = random.pick([
    "GET",
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "BREW",
    "",
  ]);
  const real = pathOf(sample.resource, "target").split("/");
  const parts = random.chance(50)
    ? real.map((part) => (random.chance(20) ? random.pick(segments) : part))
    : ["", ...Array.from({ length: random.below(9) }, () => random.pick(segments))];
  const path = parts.join("/") || "/";
  const query = random.chance(50)
    ? ""
    : random.pick(["?", "&&&", "=", "a=%zz", "watch=true", "dryRun=All", "%", `x=${"y".repeat(2000)}`]);
  const body =
    method === "GET" || method === "HEAD"
      ? undefined
      : random.chance(70)
        ? sample.json
        : damagedBytes(random, sample.protobuf);
  return { method, path, query, headers: { ...jsonTypes, ...damagedHeaders(random) }, body };
}
