import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { atOnce } from "#lib/async/turns.ts";
import { optional } from "#schema/fields.ts";
import { decode } from "#schema/json/decode.ts";
import { object } from "#schema/schema.ts";
import { any, listByKey, string } from "#schema/types.ts";
import { applyPatch } from "./apply.ts";
import { updateManagedFields } from "./fields/managed-fields.ts";

type Json = Record<string, unknown>;
const at = (second: number): number => Date.UTC(2026, 0, 1, 0, 0, second);

interface Apply {
  resource?: Resource;
  live?: ApiObject | undefined;
  config: Json;
  manager?: string;
  force?: boolean;
  subresource?: string;
  second?: number;
}
function apply({ resource = Pod, live, config, second = 1, ...rest }: Apply): ApiObject {
  const options = { manager: "me", force: false, subresource: "", ...rest };
  const { object, managedFields } = atOnce(
    applyPatch({
      resource,
      liveObject: live,
      applied: config,
      now: at(second),
      ...options,
    }),
  );
  if (object === live && managedFields === live.metadata.managedFields) return live;
  const decoded = decode(resource.schema, object, { defaults: true }).value;
  const { managedFields: _, ...metadata } = decoded.metadata;
  return {
    ...decoded,
    metadata: { ...metadata, uid: "u", ...(managedFields ? { managedFields: [...managedFields] } : {}) },
  };
}
function update(live: ApiObject | undefined, json: Json, manager = "them"): ApiObject {
  const now = decode(Pod.schema, json, { defaults: true }).value;
  const facts = { resource: Pod, oldObject: live, newObject: now, manager, subresource: "", now: at(2) };
  const managedFields = atOnce(updateManagedFields(facts));
  return {
    ...now,
    metadata: { ...now.metadata, uid: "u", ...(managedFields ? { managedFields: [...managedFields] } : {}) },
  };
}
const pod = (spec: Json, metadata: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default", ...metadata },
  spec: { containers: [{ name: "a", image: "1" }], ...spec },
});
const specOf = (object: ApiObject): Json => (object as ApiObject & { spec: Json }).spec;
const fieldsOf = (object: ApiObject, manager: string): unknown =>
  object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;
const owners = (object: ApiObject): string[] =>
  (object.metadata.managedFields ?? []).map(({ manager, operation, time }) => `${manager} ${operation} ${time}`);
const time = (second: number): string => `2026-01-01T00:00:0${second}Z`;

test("applying a new object creates it and owns the fields that it names", () => {
  const made = apply({ config: pod({ nodeSelector: { disk: "ssd" } }, { labels: { app: "web" } }) });

  assert.deepEqual(owners(made), [`me Apply ${time(1)}`]);
  assert.equal(
    JSON.stringify(fieldsOf(made, "me")),
    '{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"a\\"}":{".":{},"f:image":{},' +
      '"f:name":{}}},"f:nodeSelector":{}}}',
  );
});

test("applying the same configuration again changes neither the object nor the time", () => {
  const config = pod({}, { labels: { app: "web" } });
  const made = apply({ config });

  assert.equal(apply({ live: made, config, second: 5 }), made);
});

test("fields that are no longer applied are removed", () => {
  const made = apply({
    config: pod(
      { containers: [{ name: "a", image: "1", env: [{ name: "X", value: "1" }] }, { name: "b" }] },
      { labels: { app: "web", tier: "x" } },
    ),
  });

  const next = apply({ live: made, config: pod({}, { labels: { app: "web" } }), second: 2 });

  assert.deepEqual(next.metadata.labels, { app: "web" });
  const [container, ...others] = specOf(next).containers as Json[];
  assert.deepEqual(others, []);
  assert.equal(container?.env, undefined);
  assert.deepEqual(owners(next), [`me Apply ${time(2)}`]);
});

test("fields that another manager applies or has written stay", () => {
  const labels = { app: "web", tier: "x" };
  const mine = apply({ config: pod({}, { labels }) });
  const both = apply({ live: mine, config: pod({}, { labels: { tier: "x" } }), manager: "you", second: 2 });
  const { spec } = both as ApiObject & { spec: Json };
  const touched = update(both, { ...pod(spec), metadata: { ...both.metadata, labels: { ...labels, extra: "1" } } });

  const next = apply({ live: touched, config: pod({}), second: 3 });

  assert.deepEqual(next.metadata.labels, { tier: "x", extra: "1" });
});

test("changing a value with another owner is a conflict that names the field and the owner", () => {
  const live = update(undefined, pod({ nodeName: "n1" }), "kubectl-client-side-apply");

  const run = () => apply({ live, config: pod({ nodeName: "n2" }) });

  const message = 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .spec.nodeName';
  const cause = {
    reason: "FieldManagerConflict",
    message: 'conflict with "kubectl-client-side-apply" using v1',
    field: ".spec.nodeName",
  };
  assert.throws(run, (error: unknown) => {
    assert(error instanceof StatusError);
    assert.equal(error.code, 409);
    assert.equal(error.message, message);
    assert.deepEqual(error.details, { causes: [cause] });
    return true;
  });
});

test("several conflicts are listed by their owners", () => {
  const one = apply({ config: pod({ nodeName: "n1" }), manager: "a" });
  const live = update(
    one,
    { ...pod({ nodeName: "n1", priority: 1 }), metadata: { ...one.metadata, labels: { x: "1" } } },
    "b",
  );

  const run = () => apply({ live, config: pod({ nodeName: "n2", priority: 2 }, { labels: { x: "2" } }) });

  const message =
    'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.nodeName\n' +
    'conflicts with "b" using v1:\n- .metadata.labels.x\n- .spec.priority';
  assert.throws(run, { message });
});

test("equal values are shared, and force takes over the others", () => {
  const live = apply({ config: pod({ nodeName: "n1", priority: 1 }), manager: "a" });

  const next = apply({ live, config: pod({ nodeName: "n2", priority: 1 }), force: true, second: 2 });

  assert.equal(specOf(next).nodeName, "n2");
  assert.deepEqual(Object.keys((fieldsOf(next, "a") as Record<string, object>)["f:spec"] ?? {}), [
    "f:containers",
    "f:priority",
  ]);
  assert.deepEqual(Object.keys((fieldsOf(next, "me") as Record<string, object>)["f:spec"] ?? {}), [
    "f:containers",
    "f:nodeName",
    "f:priority",
  ]);
});

const orders = [
  {
    name: "new items go to their place in the configuration",
    live: ["a", "b"],
    config: ["x", "b"],
    is: ["a", "x", "b"],
  },
  { name: "items of others keep their place", live: ["a", "b", "c"], config: ["c"], is: ["a", "b", "c"] },
  { name: "the order of the configuration wins", live: ["a", "b", "c"], config: ["c", "a"], is: ["b", "c", "a"] },
  { name: "new items at the end stay there", live: ["a", "b"], config: ["b", "z"], is: ["a", "b", "z"] },
];
for (const { name, live, config, is } of orders) {
  test(`in merged lists ${name}`, () => {
    const containers = (names: string[]) => ({ containers: names.map((item) => ({ name: item })) });

    const next = apply({ live: update(undefined, pod(containers(live))), config: pod(containers(config)) });

    assert.deepEqual(
      (specOf(next).containers as Json[]).map((item) => item.name),
      is,
    );
  });
}

test("an atomic list or map is replaced as a whole, a set is merged", () => {
  const live = apply({
    config: pod({ tolerations: [{ key: "a", operator: "Exists" }] }, { finalizers: ["x/a"] }),
    manager: "a",
  });
  const config = pod({ tolerations: [{ key: "b", operator: "Exists" }] }, { finalizers: ["x/b"] });

  assert.throws(() => apply({ live, config }), {
    message: 'Apply failed with 1 conflict: conflict with "a": .spec.tolerations',
  });
  const next = apply({ live, config, force: true });

  assert.deepEqual(specOf(next).tolerations, [{ key: "b", operator: "Exists" }]);
  assert.deepEqual(next.metadata.finalizers, ["x/a", "x/b"]);
});

const prefix = "failed to create typed patch object (default/p; /v1, Kind=Pod): ";
const faults: { config: Json; code: number; says: string }[] = [
  { config: { ...pod({}), kind: "Job" }, code: 400, says: "invalid object type: /v1, Kind=Job" },
  { config: { ...pod({}), apiVersion: "apps/v1" }, code: 400, says: "invalid object type: apps/v1, Kind=Pod" },
  { config: pod({}, { managedFields: [] }), code: 400, says: "metadata.managedFields must be nil" },
  { config: pod({ bogus: 1 }), code: 400, says: `${prefix}.spec.bogus: field not declared in schema` },
  {
    config: pod({ nodeName: 5 }),
    code: 400,
    says: `${prefix}.spec.nodeName: expected string, got &value.valueUnstructured{Value:5}`,
  },
  {
    config: pod({ priority: "1" }),
    code: 400,
    says: `${prefix}.spec.priority: expected numeric (int or float), got string`,
  },
  { config: pod({ hostNetwork: "yes" }), code: 400, says: `${prefix}.spec.hostNetwork: expected boolean, got &{yes}` },
  { config: pod({ volumes: { a: 1 } }), code: 400, says: `${prefix}.spec.volumes: expected list, got &{map[a:1]}` },
  { config: pod({ affinity: [1] }), code: 400, says: `${prefix}.spec.affinity: expected map, got &{[1]}` },
  {
    config: pod({ containers: [{ name: "a" }, { name: "a" }] }),
    code: 400,
    says: `${prefix}.spec.containers: duplicate entries for key [name="a"]`,
  },
  {
    config: pod({}, { finalizers: ["a/b", "a/b"] }),
    code: 400,
    says: `${prefix}.metadata.finalizers: duplicate entries for key [="a/b"]`,
  },
  {
    config: pod({ containers: [null] }),
    code: 400,
    says: `${prefix}.spec.containers: element 0: associative list with keys may not have a null element`,
  },
];
for (const { config, code, says } of faults) {
  test(`applying is refused: ${says}`, () => {
    assert.throws(() => apply({ config }), { code, message: says });
  });
}

test("an untracked object gets an entry for its existing fields", () => {
  const { managedFields: _, ...metadata } = update(undefined, pod({ nodeName: "n1" })).metadata;
  const live = { ...update(undefined, pod({ nodeName: "n1" })), metadata };

  const next = apply({ live, config: pod({ priority: 1 }), second: 3 });

  assert.deepEqual(owners(next), [`me Apply ${time(3)}`, `before-first-apply Update ${time(3)}`]);
  assert.throws(() => apply({ live, config: pod({ nodeName: "n2" }) }), {
    message: 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.nodeName',
  });
});

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
test("kubectl takes over unchanged fields from client-side apply, and keeps its annotation up to date", () => {
  const annotations = { [lastApplied]: JSON.stringify(pod({ nodeName: "n1", priority: 1 })) };
  const live = update(undefined, pod({ nodeName: "n1", priority: 7 }, { annotations }), "kubectl-client-side-apply");

  assert.throws(() => apply({ live, config: pod({ nodeName: "n2", priority: 2 }), manager: "kubectl" }), {
    message: 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .spec.priority',
  });
  const config = pod({ nodeName: "n2", priority: 7 });
  const next = apply({ live, config, manager: "kubectl" });

  assert.equal(specOf(next).nodeName, "n2");
  assert.deepEqual(JSON.parse(next.metadata.annotations?.[lastApplied] ?? ""), config);
  assert.throws(() => apply({ live, config: pod({ nodeName: "n2" }) }), { code: 409 });
});

test("the status endpoint applies only the status", () => {
  const live = apply({ resource: Deployment, config: deployment({ replicas: 1 }) });

  const next = apply({
    resource: Deployment,
    live,
    config: { ...deployment({ replicas: 2 }), status: { replicas: 1 } },
    manager: "controller",
    subresource: "status",
  });

  assert.deepEqual(fieldsOf(next, "controller"), { "f:status": { "f:replicas": {} } });
});
function deployment(spec: Json): Json {
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "1" }] } };
  const selector = { matchLabels: { a: "b" } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" }, spec: { selector, template, ...spec } };
}

test("without a schema, objects are owned field by field and lists as a whole", () => {
  const fields = {
    ...Pod.schema.fields,
    spec: optional(2, any(), "Anything."),
    items: optional(
      3,
      listByKey(
        "id",
        object("test/v1.Item", "", { id: optional(1, string(), "Its name."), free: optional(2, any(), "Anything.") }),
      ),
      "Items.",
    ),
  };
  const resource = { ...Pod, schema: object("test/v1.Free", "", fields) } as unknown as Resource;
  const free = (spec: unknown): Json => ({ ...pod({}), spec });
  const live = apply({ resource, config: free({ a: { b: 1 }, list: [{ x: 1 }] }), manager: "a" });

  const next = apply({ resource, live, config: free({ a: { c: 2 } }) });

  assert.deepEqual(specOf(next), { a: { b: 1, c: 2 }, list: [{ x: 1 }] });
  assert.deepEqual(fieldsOf(live, "a"), { "f:spec": { "f:a": { ".": {}, "f:b": {} }, "f:list": {} } });
  assert.throws(() => apply({ resource, live, config: free({ list: [] }) }), {
    message: 'Apply failed with 1 conflict: conflict with "a": .spec.list',
  });
});
