import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { atOnce } from "#lib/async/turns.ts";
import { decode } from "#schema/json/decode.ts";
import { type Entries } from "./entries.ts";
import { managerOf, settledEntries, updateManagedFields } from "./managed-fields.ts";

const time = (second: number): string => `2026-01-01T00:00:0${second}Z`;
const at = (second: number): number => Date.UTC(2026, 0, 1, 0, 0, second);

interface Write {
  resource?: Resource;
  old?: ApiObject | undefined;
  now: ApiObject;
  manager: string;
  subresource?: string;
  second?: number;
}
/** The new object as it would be stored. */
function write({ resource = Deployment, old, now, manager, subresource = "", second = 1 }: Write): ApiObject {
  const facts = { resource, oldObject: old, newObject: now, manager, subresource, now: at(second) };
  const managedFields = atOnce(updateManagedFields(facts)) as ApiObject["metadata"]["managedFields"];
  const { managedFields: _, ...metadata } = now.metadata;
  return { ...now, metadata: { ...metadata, uid: "u", ...(managedFields ? { managedFields } : {}) } };
}
const entries = (object: ApiObject): Entries => object.metadata.managedFields ?? [];
const managers = (object: ApiObject): string[] => entries(object).map(({ manager = "", time }) => `${manager} ${time}`);
const read = (resource: Resource, json: unknown): ApiObject => decode(resource.schema, json, { defaults: true }).value;

const web = (spec: object = {}): ApiObject =>
  read(Deployment, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", labels: { app: "web" } },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } },
      ...spec,
    },
  });
const edit = (object: ApiObject, changes: object, metadata: object = {}): ApiObject => ({
  ...object,
  ...changes,
  metadata: { ...object.metadata, ...metadata },
});

const created =
  '{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},' +
  '"f:revisionHistoryLimit":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},' +
  '"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{' +
  '"f:containers":{"k:{\\"name\\":\\"web\\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},' +
  '"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},' +
  '"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}}';
const status =
  '{"f:status":{"f:conditions":{".":{},"k:{\\"type\\":\\"Progressing\\"}":{".":{},"f:lastTransitionTime":{},' +
  '"f:lastUpdateTime":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:replicas":{}}}';

test("a create gives all fields to its manager, exactly as upstream", () => {
  const stored = write({ now: web(), manager: "kubectl-create" });

  assert.equal(
    JSON.stringify(entries(stored)),
    `[{"manager":"kubectl-create","operation":"Update","apiVersion":"apps/v1","time":"${time(1)}",` +
      `"fieldsType":"FieldsV1","fieldsV1":${created}}]`,
  );
});

test("a status update owns the status, in a separate entry", () => {
  const stored = write({ now: web(), manager: "kubectl-create" });
  const conditions = [{ type: "Progressing", status: "True" }];
  const now = edit(stored, { status: { observedGeneration: 1, replicas: 3, conditions } });

  const next = write({ old: stored, now, manager: "controller", subresource: "status", second: 2 });

  assert.equal(entries(next)[0], entries(stored)[0]);
  assert.equal(
    JSON.stringify(entries(next)[1]),
    `{"manager":"controller","operation":"Update","apiVersion":"apps/v1","time":"${time(2)}",` +
      `"fieldsType":"FieldsV1","fieldsV1":${status},"subresource":"status"}`,
  );
});

test("no endpoint owns the fields that it resets", () => {
  const stored = write({ now: web(), manager: "kubectl-create" });

  const byMain = write({ old: stored, now: edit(stored, { status: { replicas: 1 } }), manager: "x" });
  const byStatus = write({ old: stored, now: web({ replicas: 9 }), manager: "x", subresource: "status" });

  assert.equal(entries(byMain), entries(stored));
  assert.equal(entries(byStatus), entries(stored));
});

test("a kind declares what its endpoints reset: nobody owns the spec of a CertificateSigningRequest", () => {
  const resource = CertificateSigningRequest;
  const metadata = { name: "a", labels: { app: "web" } };
  const object = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata };
  const status = { conditions: [{ type: "Approved", status: "True" }], certificate: "YQ==" };

  const created = write({ resource, now: read(resource, { ...object, spec: { signerName: "a.io/b" } }), manager: "a" });
  const decided = edit(created, { status });
  const approved = write({ resource, old: created, now: decided, manager: "b", subresource: "approval" });
  const signed = write({ resource, old: created, now: decided, manager: "c", subresource: "status" });

  assert.deepEqual(entries(created)[0]?.fieldsV1, { "f:metadata": { "f:labels": { ".": {}, "f:app": {} } } });
  const condition = { ".": {}, "f:lastTransitionTime": {}, "f:lastUpdateTime": {}, "f:status": {}, "f:type": {} };
  assert.deepEqual(entries(approved)[1]?.fieldsV1, {
    "f:status": { "f:conditions": { ".": {}, 'k:{"type":"Approved"}': condition } },
  });
  assert.deepEqual(entries(signed)[1]?.fieldsV1, { "f:status": { "f:certificate": {} } });
});

test("a changed field moves to the manager that changed it, and a removed one has no owner", () => {
  const stored = write({ now: web(), manager: "a" });
  const now = edit(web({ replicas: 5 }), {}, { labels: { tier: "front" } });

  const next = write({ old: stored, now, manager: "b", second: 2 });

  assert.deepEqual(managers(next), [`a ${time(1)}`, `b ${time(2)}`]);
  assert.deepEqual(entries(next)[1]?.fieldsV1, {
    "f:metadata": { "f:labels": { "f:tier": {} } },
    "f:spec": { "f:replicas": {} },
  });
  const kept = entries(next)[0]?.fieldsV1 as Record<string, Record<string, unknown>>;
  assert.deepEqual(kept["f:metadata"], { "f:labels": {} });
  assert(!Object.keys(kept["f:spec"] ?? {}).includes("f:replicas"));
});

test("an update that changes nothing keeps the list itself", () => {
  const stored = write({ now: web(), manager: "a" });

  const next = write({ old: stored, now: structuredClone(stored), manager: "b", second: 2 });

  assert.equal(entries(next), entries(stored));
});

test("managedFields that a client sends back unchanged are not a change", () => {
  const stored = write({ now: web(), manager: "a" });
  const sent = structuredClone(edit(stored, {}, { annotations: { x: "1" } }));

  const next = write({ old: stored, now: sent, manager: "b", second: 2 });

  assert.equal(entries(next)[0], entries(stored)[0]);
  assert.deepEqual(entries(next)[1]?.fieldsV1, { "f:metadata": { "f:annotations": { ".": {}, "f:x": {} } } });
});

for (const wiped of [[], [{}]]) {
  test(`managedFields ${JSON.stringify(wiped)} removes all ownership, until the next apply`, () => {
    const stored = write({ now: web(), manager: "a" });

    const next = write({ old: stored, now: edit(web({ replicas: 5 }), {}, { managedFields: wiped }), manager: "b" });
    const later = write({ old: next, now: web({ replicas: 6 }), manager: "b" });

    assert.deepEqual(entries(next), []);
    assert.deepEqual(entries(later), []);
  });
}

test("managedFields that are invalid, or sent to a subresource, are ignored", () => {
  const stored = write({ now: web(), manager: "a" });
  const nonsense = edit(stored, {}, { managedFields: [{ manager: "a", operation: "Guess" }] });
  const wiped = edit(stored, {}, { managedFields: [] });

  assert.equal(entries(write({ old: stored, now: nonsense, manager: "b" })), entries(stored));
  assert.equal(entries(write({ old: stored, now: wiped, manager: "b", subresource: "status" })), entries(stored));
});

test("a client may transfer fields in managedFields", () => {
  const stored = write({ now: web(), manager: "a" });
  const [entry] = entries(stored);
  const handed = edit(stored, {}, { managedFields: [{ ...entry, manager: "heir" }] });

  assert.deepEqual(managers(write({ old: stored, now: handed, manager: "b" })), [`heir ${time(1)}`]);
});

test("the oldest of more than ten updaters become one", () => {
  let stored = write({ now: web(), manager: "creator", second: 0 });
  for (let n = 0; n < 11; n++) {
    const now = edit(stored, {}, { annotations: { ...stored.metadata.annotations, [`n${n}`]: "1" } });
    stored = write({ old: stored, now, manager: `m${String(n).padStart(2, "0")}`, second: 1 + Math.floor(n / 2) });
  }

  const names = managers(stored).map((text) => text.split(" ")[0]);
  assert.equal(names.length, 10);
  assert.deepEqual(names.slice(0, 2), ["ancient-changes", "m02"]);
  assert(
    JSON.stringify(entries(stored)[0]).includes("f:n0") && JSON.stringify(entries(stored)[0]).includes("f:replicas"),
  );
});

test("a manager without a name is unknown", () => {
  assert.deepEqual(managers(write({ now: web(), manager: "" })), [`unknown ${time(1)}`]);
});

const pod = (changes: object): ApiObject =>
  read(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "a", ...changes }] },
  });
const ownedBy = (object: ApiObject): unknown => {
  const fields = entries(object).at(-1)?.fieldsV1 as Record<string, Record<string, Record<string, unknown>>>;
  return fields?.["f:spec"]?.["f:containers"]?.['k:{"name":"a"}'];
};
const changes = [
  {
    name: "items of a list are identified by their keys",
    from: { ports: [{ containerPort: 80 }, { containerPort: 443, name: "tls" }] },
    to: { ports: [{ containerPort: 443, name: "https" }, { containerPort: 8080 }] },
    fields: {
      "f:ports": {
        'k:{"containerPort":443,"protocol":"TCP"}': { "f:name": {} },
        'k:{"containerPort":8080,"protocol":"TCP"}': { ".": {}, "f:containerPort": {}, "f:protocol": {} },
      },
    },
  },
  { name: "an atomic list is one field", from: { args: ["a"] }, to: { args: ["a", "b"] }, fields: { "f:args": {} } },
  {
    name: "two items with one key are one field without parts",
    from: { env: [{ name: "A", value: "1" }] },
    to: {
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    },
    fields: { "f:env": { 'k:{"name":"A"}': {} } },
  },
  {
    name: "a new map is a field with fields",
    from: {},
    to: { resources: { requests: { cpu: "1", memory: "1Gi" } } },
    fields: { "f:resources": { "f:requests": { ".": {}, "f:cpu": {}, "f:memory": {} } } },
  },
];
for (const { name, from, to, fields } of changes) {
  test(name, () => {
    const stored = write({ resource: Pod, now: pod(from), manager: "a" });

    const next = write({ resource: Pod, old: stored, now: pod(to), manager: "b", second: 2 });

    assert.equal(JSON.stringify(ownedBy(next)), JSON.stringify(fields));
  });
}

test("managerOf() returns the parameter, or the first word of the user agent", () => {
  assert.equal(managerOf("me", "kubectl/v1.36"), "me");
  assert.equal(managerOf("", "kubectl/v1.36 (linux)"), "kubectl");
  assert.equal(managerOf("", "odd\u0007name"), "oddname");
  assert.equal(managerOf("", "x".repeat(200)).length, 128);
  assert.equal(managerOf("", ""), "");
});

test("settledEntries() keeps the old times when nothing else has changed", () => {
  const stored = write({ now: web(), manager: "a" });
  const later = entries(stored).map((entry) => ({ ...entry, time: time(5) }));
  const same = edit(structuredClone(stored), {}, { managedFields: later });

  assert.equal(settledEntries(stored, same), stored.metadata.managedFields);
  assert.equal(settledEntries(stored, edit(same, { spec: {} })), later);
});

test("a granular field has owners of its parts, although its type is one value elsewhere", () => {
  const claimRef = { kind: "PersistentVolumeClaim", name: "data" };
  const now = read(PersistentVolume, { metadata: { name: "pv" }, spec: { claimRef, storageClassName: "fast" } });

  const [entry] = entries(write({ resource: PersistentVolume, now, manager: "binder" }));

  assert.match(JSON.stringify(entry?.fieldsV1), /"f:claimRef":\{"\.":\{\},"f:kind":\{\},"f:name":\{\}\}/);
});
