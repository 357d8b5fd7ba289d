import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { caBundle, otherBundle, type Review, startWebhooks } from "#server/admission/webhooks/webhooks.suite.ts";
import { follow, type Loose } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { define, honest, path, sender, success } from "./conversion.suite.ts";

let cluster: TestCluster;
/** What the webhook answers; it converts honestly unless a test changes that. */
let answer: (review: Review, response: { end(text: string): void }) => Review;
let webhook: Awaited<ReturnType<typeof startWebhooks>>;
const convertAll = (convert: (object: Review, apiVersion: string) => Review) => (review: Review) => ({
  result: success,
  convertedObjects: review.request.objects.map((one: Review) => convert(one, review.request.desiredAPIVersion)),
});
before(async () => {
  cluster = await startCluster({ controllers: false });
  webhook = await startWebhooks((review, _path, { response }) => answer(review, response));
});
after(async () => {
  await webhook[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});
const send: ReturnType<typeof sender> = (...args) => sender(cluster)(...args);

/** A kind with one object, `a`, that is stored in v1. */
async function start(plural: string, bundle = caBundle): Promise<void> {
  answer = convertAll(honest);
  await define(cluster, plural, { url: webhook.url(plural), caBundle: bundle });
  await send(`POST ${path(plural, "v1")}`, { metadata: { name: "a" }, spec: { endpoint: "x:1" } });
}
const change = (part: (made: Review, object: Review) => object) =>
  convertAll((object, apiVersion) => {
    const made = honest(object, apiVersion);
    return { ...made, ...part(made, object) };
  });
const meta = (fields: object) => change(({ metadata }) => ({ metadata: { ...metadata, ...fields } }));

const lies: readonly [string, typeof answer, RegExp][] = [
  ["another name", meta({ name: "b" }), /returned invalid object: must have the same name: a != b$/],
  [
    "another namespace",
    meta({ namespace: "b" }),
    /returned invalid object: must have the same namespace: default != b$/,
  ],
  ["another uid", meta({ uid: "b" }), /returned invalid object: must have the same UID: .* != b$/],
  [
    "a label that is none",
    meta({ labels: { "a b": "c" } }),
    /returned invalid metadata: metadata.labels: Invalid value: "a b"/,
  ],
  [
    "annotations of another type",
    meta({ annotations: { a: 1 } }),
    /metadata.annotations\[a\] must be a string, but is int64/,
  ],
  ["no metadata", change(() => ({ metadata: undefined })), /must have the same name: a != $/],
  ["another kind", change(() => ({ kind: "Secret" })), /index 0: invalid kind \(expected .*, received Secret\)$/],
  [
    "the version that it was sent",
    change((_made, object) => object),
    /index 0: invalid groupVersion \(expected example.com\/v2, received example.com\/v1\)$/,
  ],
  ["nothing", () => ({ result: success, convertedObjects: [] }), /returned 0 objects, expected 1$/],
  ["more than was asked", () => ({ result: success, convertedObjects: [{}, {}] }), /returned 2 objects, expected 1$/],
  ["an error", () => ({ result: { status: "Failed", message: "no way" } }), /Kind=Lie\d+ failed: no way$/],
  ["no result", () => ({}), /failed: response.result.status was '', not 'Success'$/],
  [
    "the answer to another question",
    () => ({ uid: "b", result: success }),
    /failed: expected response.uid=".*", got "b"$/,
  ],
  ["text", (_review, response) => void response.end("hello"), /failed: couldn't get version\/kind; json parse error/],
  ["5 MiB", (_review, response) => void response.end("x".repeat(5 << 20)), /failed: Post .*larger than 4194304 bytes$/],
  [
    "another document",
    (_review, response) => void response.end("{}"),
    /expected webhook response of .*, got \/, Kind=$/,
  ],
];
for (const [index, [name, lie, message]] of lies.entries()) {
  test(`a conversion webhook that answers with ${name} is refused, and the object stays readable as it is stored`, async () => {
    const plural = `lie${index}s`;
    await start(plural);

    answer = lie;
    const read = await send(`GET ${path(plural, "v2")}/a`);
    const listed = await send(`GET ${path(plural, "v2")}`);
    const stored = await send(`GET ${path(plural, "v1")}/a`);

    assert.deepEqual([read.status, read.json.reason, listed.status, stored.status], [500, undefined, 500, 200]);
    assert.match(String(read.json.message), /^conversion webhook for example.com\/v1, Kind=Lie\d+ /);
    assert.match(String(read.json.message), message);
    assert.match(String(listed.json.message), message);
  });
}

test("a conversion webhook changes labels and annotations, and no other metadata", async () => {
  await start("signs");

  answer = meta({
    labels: { a: "b" },
    finalizers: ["example.com/x"],
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }],
    deletionTimestamp: "2020-01-01T00:00:00Z",
    generation: 7,
    resourceVersion: "1",
  });
  const { json } = await send(`GET ${path("signs", "v2")}/a`);
  const { json: stored } = await send(`GET ${path("signs", "v1")}/a`);

  assert.deepEqual(json.metadata, { ...stored.metadata, labels: { a: "b" } });
});

test("one object that cannot be converted fails lists and watches of its version, and nothing else", async () => {
  await start("flaws");
  await send(`POST ${path("flaws", "v1")}`, { metadata: { name: "bad" }, spec: { endpoint: "y:1", note: "bad" } });
  answer = (review) => {
    const isBad = review.request.objects.some((object: Review) => object.spec.note === "bad");
    return isBad ? { result: { status: "Failure", message: "bad object" } } : convertAll(honest)(review);
  };

  const statuses = async (version: string) => {
    const parts = ["", "/a", "/bad"];
    return await Promise.all(parts.map(async (part) => (await send(`GET ${path("flaws", version)}${part}`)).status));
  };
  assert.deepEqual(await statuses("v2"), [500, 200, 500]);
  assert.deepEqual(await statuses("v1"), [200, 200, 200]);
  const watched = await send(`GET ${path("flaws", "v2")}?watch=1`);
  assert.equal(watched.json.message, "conversion webhook for example.com/v1, Kind=Flaw failed: bad object");
  const told = answer;
  answer = () => ({ result: { status: "Failure", message: "still bad" } });
  await cluster.until(async () =>
    /still bad$/.test(String((await send(`GET ${path("flaws", "v2")}/bad`)).json.message)),
  );
  answer = told;
  await send(`DELETE ${path("flaws", "v1")}/bad`);
  assert.deepEqual(await statuses("v2"), [200, 200, 404]);
});

test("a watch ends with an error when an object cannot be converted, and all is well when it can again", async () => {
  await start("nicks");
  const watched = await follow(cluster.api.server, `GET ${path("nicks", "v2")}?watch=1`);
  answer = () => ({ result: { status: "Failure", message: "not now" } });

  const created = await send(`POST ${path("nicks", "v1")}`, { metadata: { name: "b" }, spec: { endpoint: "y:1" } });
  const refused = await send(`POST ${path("nicks", "v2")}`, { metadata: { name: "c" }, spec: { host: "z" } });
  await cluster.until(() => watched.isOver);
  answer = convertAll(honest);
  const failedMessage = "conversion webhook for example.com/v1, Kind=Nick failed: not now";

  assert.deepEqual([created.status, refused.status], [201, 500]);
  assert.deepEqual(
    watched.events.map(({ type, object }) => [type, (object as Loose).message ?? object.metadata?.name]),
    [
      ["ADDED", "a"],
      ["ERROR", failedMessage],
    ],
  );
  await cluster.until(async () => (await send(`GET ${path("nicks", "v2")}`)).status === 200);
  assert.equal((await send(`GET ${path("nicks", "v2")}`)).items.length, 2);
});

test("a conversion webhook that hangs is given up on after 30 seconds, and other versions do not wait for it", async () => {
  await start("snails");
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  answer = () => resolve();

  const reading = send(`GET ${path("snails", "v2")}/a`);
  await asked;
  const stored = await send(`GET ${path("snails", "v1")}/a`);
  let isDone = false;
  void reading.finally(() => (isDone = true));
  await cluster.until(() => isDone);

  assert.equal(stored.status, 200);
  assert.match(String((await reading).json.message), /\/snails\?timeout=30s": context deadline exceeded$/);
});

test("a conversion webhook whose certificate is from somebody else gets nothing", async () => {
  await start("masks", otherBundle);
  let asked = 0;
  answer = () => {
    asked++;
    return {};
  };

  const { json } = await send(`GET ${path("masks", "v2")}/a`);

  assert.match(String(json.message), /failed: Post "https:.*\/masks\?timeout=30s": tls: failed to verify certificate/);
  assert.equal(asked, 0);
});
