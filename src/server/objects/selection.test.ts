import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "#testing/build.ts";
import { Widget } from "#testing/widget.ts";
import { Buckets } from "./buckets.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { codecOf, EncodedObject, toStoredBytes } from "./encode-once.ts";
import { select } from "./selection.ts";

const widgets = ["a/one red", "a/two blue", "b/one blue", "b/three red", "b/two -"];

function filled(): Buckets<Widget> {
  const buckets = new Buckets(Widget);
  for (const [index, text] of widgets.entries()) put(buckets, text, index + 1);
  return buckets;
}
function put(buckets: Buckets<Widget>, text: string, revision: number): EncodedObject<Widget> {
  const [key = "", color = ""] = text.split(" ");
  const [namespace = "", name = ""] = key.split("/");
  const spec = color === "-" ? {} : { color };
  const object = structuredClone(build(Widget, { metadata: { namespace, name, labels: { color } }, spec }));
  const stored = toStoredBytes(codecOf(Widget), object, revision);
  const encoded = new EncodedObject(codecOf(Widget), revision, { stored, object });
  buckets.put({ namespace, name }, encoded);
  return encoded;
}

const cases: readonly { namespace?: string; labelSelector?: string; fieldSelector?: string; finds: string }[] = [
  { finds: "a/one a/two b/one b/three b/two" },
  { namespace: "b", finds: "b/one b/three b/two" },
  { namespace: "none", finds: "" },
  { labelSelector: "color in (red,blue)", namespace: "b", finds: "b/one b/three" },
  { labelSelector: "color!=red", finds: "a/two b/one b/two" },
  { fieldSelector: "metadata.name=one", finds: "a/one b/one" },
  { fieldSelector: "metadata.name=one", namespace: "b", finds: "b/one" },
  { fieldSelector: "metadata.name!=one", namespace: "b", finds: "b/three b/two" },
  { fieldSelector: "metadata.namespace=a", finds: "a/one a/two" },
  { fieldSelector: "metadata.namespace=a", namespace: "b", finds: "" },
  { fieldSelector: "spec.color=red", finds: "a/one b/three" },
  { fieldSelector: "spec.color=red", namespace: "b", finds: "b/three" },
  { fieldSelector: "spec.color=red,metadata.name=one", finds: "a/one" },
  { fieldSelector: "spec.color=red,spec.color=blue", finds: "" },
  { fieldSelector: "spec.color=", finds: "b/two" },
  { fieldSelector: "spec.color!=red", finds: "a/two b/one b/two" },
  { fieldSelector: "spec.color=blue", labelSelector: "color=blue", namespace: "a", finds: "a/two" },
];
for (const { namespace = "", finds, ...selectors } of cases) {
  test(`select() by ${JSON.stringify({ namespace, ...selectors })} finds ${finds || "nothing"}`, () => {
    const found = filled().select(select(Widget, namespace, selectors));

    assert.equal(found.map(({ object: { metadata } }) => `${metadata.namespace}/${metadata.name}`).join(" "), finds);
  });
}

test("select() refuses fields that are not selectable", () => {
  for (const fieldSelector of ["spec.size=1", "toString=x", "constructor=x"])
    assert.throws(() => select(Widget, "", { fieldSelector }), { code: 400 });
});

test("select() refuses fields of custom kinds in upstream's words, selectable fields or not", () => {
  const none = { ...Widget, isJsonOnly: true, selectableFields: {} };
  const ofCluster: typeof none = { ...none, scope: "Cluster" };

  const message = (path: string) => ({ code: 400, message: `field label not supported: ${path}` });
  assert.throws(() => select(none, "", { fieldSelector: "spec.color=red" }), message("spec.color"));
  assert.throws(() => select(ofCluster, "", { fieldSelector: "metadata.namespace=a" }), message("metadata.namespace"));
  assert.doesNotThrow(() => select(none, "", { fieldSelector: "metadata.namespace=a" }));
});

test("an index follows what changes after it was first used", () => {
  const buckets = filled();
  const red = select(Widget, "", { fieldSelector: "spec.color=red" });
  const names = () => buckets.select(red).map(({ object }) => object.metadata.name);
  assert.deepEqual(names(), ["one", "three"]);

  put(buckets, "a/one blue", 11);
  put(buckets, "c/new red", 12);
  buckets.delete({ namespace: "b", name: "three" });

  assert.deepEqual(names(), ["new"]);
});

test("by() returns what came under the key in that order, whatever changes under it", () => {
  const buckets = filled();
  const names = () => buckets.by("color", "red").map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), ["one", "three"]);

  put(buckets, "a/new red", 11);
  put(buckets, "a/two red", 12);
  put(buckets, "a/one red", 13);
  assert.deepEqual(names(), ["one", "three", "new", "two"]);
  put(buckets, "a/one blue", 14);
  put(buckets, "a/one red", 15);
  assert.deepEqual(names(), ["three", "new", "two", "one"]);
});

test("select() by a field parses objects that are kept as bytes once, however many it sorts", (t) => {
  const buckets = new Buckets(Widget);
  const red = select(Widget, "", { fieldSelector: "spec.color=red" });
  for (const name of ["e", "b", "d", "a", "c"]) put(buckets, `a/${name} red`, 1).shed();
  buckets.select(red);
  const parse = t.mock.method(JSON, "parse");

  const found = buckets.select(red);

  assert.equal(parse.mock.callCount(), 5);
  assert.equal(found.map(({ object }) => object.metadata.name).join(""), "abcde");
});

test("version() changes with everything that a list would show", () => {
  const buckets = filled();
  const seen = new Set([buckets.version("a")]);
  const other = buckets.version("b");

  put(buckets, "a/one green", 21);
  seen.add(buckets.version("a"));
  buckets.delete({ namespace: "a", name: "one" });
  seen.add(buckets.version("a"));
  put(buckets, "a/one green", 22);
  seen.add(buckets.version("a"));

  assert.equal(seen.size, 4);
  assert.equal(buckets.version("b"), other);
});

test("a continue token is decoded as it was encoded", () => {
  const token = { revision: 7, after: "default/web.é" };

  assert.deepEqual(decodeContinue(encodeContinue(token)), token);
});

const of = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
for (const token of [
  "",
  "!",
  of(null),
  of([]),
  of({ v: "meta.k8s.io/v2", rv: 1, start: "a" }),
  of({ v: "meta.k8s.io/v1", rv: 0, start: "a" }),
  of({ v: "meta.k8s.io/v1", rv: -2, start: "a" }),
  of({ v: "meta.k8s.io/v1", rv: 1.5, start: "a" }),
  of({ v: "meta.k8s.io/v1", rv: 1, start: "" }),
  of({ v: "meta.k8s.io/v1", rv: 1, start: "/a" }),
  of({ v: "meta.k8s.io/v1", rv: 1, start: "../secrets/a" }),
  of({ v: "meta.k8s.io/v1", rv: 1, start: "a".repeat(5000) }),
]) {
  test(`decodeContinue() refuses ${Buffer.from(token, "base64url").toString().slice(0, 60)}`, () => {
    assert.throws(() => decodeContinue(token), { code: 400 });
  });
}
