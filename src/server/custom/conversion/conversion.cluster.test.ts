import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { caBundle } from "#server/admission/webhooks/webhooks.suite.ts";
import { ask, follow, type Loose } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { define, definitions, merge, path, sender, startConverter, versionsStoredIn } from "./conversion.suite.ts";

let cluster: TestCluster;
let webhook: Awaited<ReturnType<typeof startConverter>>;
before(async () => {
  cluster = await startCluster({ controllers: false });
  webhook = await startConverter();
});
after(async () => {
  await webhook[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const send: ReturnType<typeof sender> = (...args) => sender(cluster)(...args);
const at = (name: string) => ({ url: webhook.url(name), caBundle });
const spec = ({ json }: { json: Loose }) => json.spec;
const storeIn = (plural: string, version: string) =>
  send(`PATCH ${definitions}/${plural}.example.com`, { spec: { versions: versionsStoredIn(version) } }, merge);

test("objects are read and written in every version", async () => {
  await define(cluster, "doors", at("doors"));
  const watched = await follow(cluster.api.server, `GET ${path("doors", "v2")}?watch=1`);
  const created = await send(`POST ${path("doors", "v1")}`, { metadata: { name: "a" }, spec: { endpoint: "x:1" } });
  const inV2 = await send(`GET ${path("doors", "v2")}/a`);
  const changed = await send(`PATCH ${path("doors", "v2")}/a`, { spec: { host: "y" } }, merge);
  const second = await send(`POST ${path("doors", "v2")}`, { metadata: { name: "b" }, spec: { host: "z" } });
  const listed = await send(`GET ${path("doors", "v1")}`);
  await send(`DELETE ${path("doors", "v1")}/a`);

  assert.deepEqual([created, inV2, changed, second].map(spec), [
    { endpoint: "x:1" },
    { host: "x", port: "1" },
    { host: "y", port: "1" },
    // Defaults are those of the version in which it was written.
    { host: "z", port: "80" },
  ]);
  assert.deepEqual(
    listed.items.map((item) => [item.apiVersion, item.spec]),
    [
      ["example.com/v1", { endpoint: "y:1" }],
      ["example.com/v1", { endpoint: "z:80" }],
    ],
  );
  await cluster.until(() => watched.events.length === 4);
  assert.deepEqual(
    watched.events.map(({ type, object }) => [type, object.apiVersion, (object.spec as Loose).host]),
    [
      ["ADDED", "example.com/v2", "x"],
      ["MODIFIED", "example.com/v2", "y"],
      ["ADDED", "example.com/v2", "z"],
      ["DELETED", "example.com/v2", "y"],
    ],
  );
});

test("columns, selectable fields and unknown fields are those of each version", async () => {
  await define(cluster, "gates", at("gates"));
  await send(`POST ${path("gates", "v2")}`, { metadata: { name: "a" }, spec: { host: "x", port: "1", nope: "1" } });
  await send(`POST ${path("gates", "v2")}`, { metadata: { name: "b" }, spec: { host: "y", port: "1" } });
  const table = (version: string) =>
    ask(cluster.api.server, `GET ${path("gates", version)}`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
  const cells = async (version: string) => ((await table(version)).json.rows as unknown as Loose[])[0]?.cells;
  const found = async (version: string, selector: string) =>
    (await send(`GET ${path("gates", version)}?fieldSelector=${encodeURIComponent(selector)}`)).items.map(
      ({ metadata }) => (metadata as Loose).name,
    );

  assert.deepEqual(
    [await cells("v1"), await cells("v2")],
    [
      ["a", "x:1"],
      ["a", "x", "1"],
    ],
  );
  assert.deepEqual(await found("v1", "spec.endpoint=y:1"), ["b"]);
  assert.deepEqual(await found("v2", "spec.host=x"), ["a"]);
  const strict = await send(`POST ${path("gates", "v1")}?fieldValidation=Strict`, {
    ...{ apiVersion: "example.com/v1", kind: "Gate", metadata: { name: "c" } },
    spec: { endpoint: "z:1", host: "z" },
  });
  assert.match(String(strict.json.message), /unknown field "spec.host"/);
});

test("a list in another version asks the webhook for many objects at once", async () => {
  await define(cluster, "holes", at("holes"));
  for (let index = 0; index < 60; index++) {
    await send(`POST ${path("holes", "v1")}`, { metadata: { name: `h${index}` }, spec: { endpoint: `x:${index}` } });
  }
  webhook.calls.length = 0;

  const { items } = await send(`GET ${path("holes", "v2")}`);
  await send(`GET ${path("holes", "v2")}`);
  await send(`GET ${path("holes", "v2")}/h1`);

  assert.equal(items.length, 60);
  assert.deepEqual(webhook.calls.toSorted(), [10, 50], "later reads come from the cache");
});

test("an empty update stores an object in the new version, and until then both are readable", async () => {
  await define(cluster, "walls", at("walls"));
  await send(`POST ${path("walls", "v1")}`, { metadata: { name: "old" }, spec: { endpoint: "x:1" } });
  const changed = await storeIn("walls", "v2");
  await send(`POST ${path("walls", "v1")}`, { metadata: { name: "young" }, spec: { endpoint: "y:2" } });
  const stored = async (name: string) => {
    const entry = await cluster.store.get(`/registry/example.com/walls/default/${name}`);
    return (JSON.parse(Buffer.from(entry?.value ?? []).toString()) as Loose).apiVersion;
  };

  assert.deepEqual((changed.json.status as Loose | undefined)?.storedVersions, ["v1", "v2"]);
  for (const version of ["v1", "v2"]) {
    const { items } = await send(`GET ${path("walls", version)}`);
    assert.deepEqual(
      items.map(({ apiVersion }) => String(apiVersion)),
      [`example.com/${version}`, `example.com/${version}`],
    );
  }
  assert.deepEqual([await stored("old"), await stored("young")], ["example.com/v1", "example.com/v2"]);
  const { json: same } = await send(`GET ${path("walls", "v1")}/old`);
  const first = await send(`PUT ${path("walls", "v1")}/old`, same);
  const again = await send(`PUT ${path("walls", "v1")}/old`, first.json);

  assert.equal(await stored("old"), "example.com/v2");
  assert.deepEqual(spec(first), { endpoint: "x:1" });
  assert.equal(again.json.metadata?.resourceVersion, first.json.metadata?.resourceVersion, "nothing is left to do");
});

test("managers keep the fields that they applied in another version", async () => {
  await define(cluster, "roofs", at("roofs"));
  const apply = (version: string, manager: string, fields: object) =>
    send(
      `PATCH ${path("roofs", version)}/a?fieldManager=${manager}`,
      { apiVersion: `example.com/${version}`, kind: "Roof", metadata: { name: "a" }, spec: fields },
      "application/apply-patch+yaml",
    );
  await apply("v1", "one", { endpoint: "x:1", note: "n" });

  const conflict = await apply("v2", "two", { host: "y" });
  const other = await apply("v2", "two", { host: "x" });
  const dropped = await apply("v1", "one", { endpoint: "x:1" });

  assert.equal(conflict.status, 409);
  assert.match(String(conflict.json.message), /conflict with "one": .spec.endpoint$/);
  const entries = (other.json.metadata?.managedFields ?? []) as unknown as { manager: string; apiVersion: string }[];
  assert.deepEqual(entries.map(({ manager, apiVersion }) => `${manager} ${apiVersion}`).toSorted(), [
    "one example.com/v1",
    "two example.com/v2",
  ]);
  assert.deepEqual(spec(dropped), { endpoint: "x:1" });
});

test("calls of conversion webhooks are counted", async () => {
  const text = (await ask(cluster.api.server, "GET /metrics")).bytes.toString();

  assert.match(text, /apiserver_conversion_webhook_request_total\{result="success",failure_type=""\} \d/);
  assert.match(
    text,
    /apiserver_crd_conversion_webhook_duration_seconds_count\{crd_name="doors.example.com",from_version="v1",to_version="v2",succeeded="true"\} \d/,
  );
});
