import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "#testing/peers/ask.ts";
import { startCluster } from "#testing/start-cluster.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const merge = { headers: { "content-type": "application/merge-patch+json" } };

test("an update must have the name in the URL, and the uid of the current object", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server } = cluster.api;
  await ask(server, `POST ${maps}`, { body: { metadata: { name: "a" } } });
  const put = async (metadata: object) => (await ask(server, `PUT ${maps}/a`, { body: { metadata } })).json;

  const nameless = await put({});
  const other = await put({ name: "b" });
  const stranger = await put({ name: "a", uid: "u" });

  assert.equal(nameless.message, "the name of the object (a based on URL) was undeterminable: name must be provided");
  assert.equal(other.message, "the name of the object (b) does not match the name on the URL (a)");
  assert.equal(stranger.reason, "Conflict");
  assert.match(
    String(stranger.message),
    /: StorageError: invalid object, Code: 4, Key: \/registry\/configmaps\/default\/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, /,
  );
});

test("a patch cannot change fields that the server sets", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server } = cluster.api;
  await ask(server, `POST ${maps}`, { body: { metadata: { name: "a" } } });
  const patch = async (metadata: object) =>
    (await ask(server, `PATCH ${maps}/a`, { ...merge, body: { metadata } })).json.message;

  assert.equal(
    await patch({ uid: "u" }),
    'ConfigMap "a" is invalid: metadata.uid: Invalid value: "u": field is immutable',
  );
  assert.match(
    String(await patch({ deletionTimestamp: "2030-01-01T00:00:00Z" })),
    /metadata.deletionTimestamp: Invalid value: .*: field is immutable/,
  );
});

test("an update that would create an object cannot name a uid", async () => {
  await using cluster = await startCluster({ controllers: false });
  const body = { metadata: { name: "l", uid: "u" } };

  const said = await ask(cluster.api.server, `PUT ${leases}/l`, { body });

  assert.equal(said.status, 409);
});

test("an update of a lease must have a resourceVersion", async () => {
  await using cluster = await startCluster({ controllers: false });
  const body = { metadata: { name: "l" } };
  const put = (metadata: object = {}) =>
    ask(cluster.api.server, `PUT ${leases}/l`, { body: { metadata: { ...body.metadata, ...metadata } } });

  const created = await put();
  const refused = await put();
  const updated = await put({ resourceVersion: created.json.metadata?.resourceVersion });
  const patched = await ask(cluster.api.server, `PATCH ${leases}/l`, { ...merge, body: { metadata: { labels: {} } } });

  assert.deepEqual([created.status, refused.status, updated.status, patched.status], [201, 422, 200, 200]);
  assert.equal(
    refused.json.message,
    'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  );
});

test("a duplicate owner counts once, with a warning", async () => {
  await using cluster = await startCluster({ controllers: false });
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  const metadata = { name: "a", ownerReferences: [owner, { ...owner, name: "q" }, owner] };

  const said = await ask(cluster.api.server, `POST ${maps}`, { body: { metadata } });

  assert.deepEqual(said.json.metadata?.ownerReferences, [owner, { ...owner, name: "q" }]);
  assert.match(said.warnings.join(), /contains duplicate entries.*duplicate UID\(s\) observed: u/);
});

test("a finalizer needs a domain in its name, unless it is of a lease or an event", async () => {
  await using cluster = await startCluster({ controllers: false });
  const body = { metadata: { name: "a", finalizers: ["hold"] } };

  const map = await ask(cluster.api.server, `POST ${maps}`, { body });
  const lease = await ask(cluster.api.server, `POST ${leases}`, { body });

  assert.match(String(map.json.message), /metadata.finalizers\[0\]: Invalid value: "hold": name is neither a standard/);
  assert.equal(lease.status, 201);
});

test("thousands of controller owners are refused with a short message", async () => {
  await using cluster = await startCluster({ controllers: false });
  const owner = (at: number) => ({ apiVersion: "v1", kind: "Pod", name: `p${at}`, uid: `${at}`, controller: true });
  const ownerReferences = Array.from({ length: 3000 }, (_, at) => owner(at));
  const body = { metadata: { name: "a", ownerReferences } };

  const said = await ask(cluster.api.server, "POST /api/v1/namespaces/default/configmaps", { body });

  assert.equal(said.status, 422);
  assert(said.bytes.length < 2_000_000, `${said.bytes.length} bytes`);
});

test("an owner that is too long to look up is refused", async () => {
  await using cluster = await startCluster({ controllers: false });
  const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u".repeat(17_000) }];
  const body = { metadata: { name: "a", ownerReferences } };

  const said = await ask(cluster.api.server, "POST /api/v1/namespaces/default/configmaps", { body });

  assert.equal(said.status, 422);
  assert.match(String(said.json.message), /ownerReferences.uid: Too long: may not be more than 1024 bytes/);
});
