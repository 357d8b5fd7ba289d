import assert from "node:assert/strict";
import { test } from "node:test";
import { createFakeInformers } from "./fake-informers.ts";
import { Widget } from "./widget.ts";

test("fake informers have what was put in, and scoped ones their part of it", () => {
  const informers = createFakeInformers();
  const blue = informers.of(Widget, { fieldSelector: "spec.color=blue" });
  const seen: string[] = [];
  blue.subscribe(({ type, object }) => seen.push(`${type} ${object.metadata.name}`));

  informers.put(Widget, { metadata: { namespace: "default", name: "a" }, spec: { color: "red" } });
  informers.put(Widget, { metadata: { namespace: "default", name: "a" }, spec: { color: "blue" } });
  const b = informers.put(Widget, { metadata: { namespace: "other", name: "b" }, spec: { color: "blue" } });
  informers.delete(Widget, { namespace: "default", name: "a" });

  assert.deepEqual(seen, ["put a", "put b", "delete a"]);
  assert.deepEqual(informers.of(Widget).list(), [b]);
  assert.deepEqual(blue.list("default"), []);
  assert.ok(Object.isFrozen(b.spec));
  assert.equal(informers.of(Widget).revision, 4);
});

test("informers return what came under a key in that order, whatever changes under it", () => {
  const informers = createFakeInformers();
  const widgets = informers.of(Widget);
  const put = (name: string, color: string) =>
    informers.put(Widget, { metadata: { namespace: "default", name }, spec: { color } });
  const names = () => widgets.by("color", "red").map(({ metadata }) => metadata.name);

  for (const name of ["b", "c", "a", "b"]) put(name, "red");
  assert.deepEqual(names(), ["b", "c", "a"]);
  put("b", "blue");
  put("b", "red");
  assert.deepEqual(names(), ["c", "a", "b"]);
});

test("scopes by the same field get their own changes, including objects that move between them", () => {
  const informers = createFakeInformers();
  const metadata = { namespace: "default", name: "a" };
  informers.put(Widget, { metadata, spec: { color: "red" } });
  const seen: string[] = [];
  const watch = (color: string) =>
    informers.of(Widget, { fieldSelector: `spec.color=${color}` }).subscribe((change) => {
      const before = change.type === "put" && change.previous ? ` after ${change.previous.spec.size}` : "";
      seen.push(`${color}: ${change.type} ${change.object.spec.size}${before}`);
    });
  watch("red");
  const stop = watch("blue");

  informers.put(Widget, { metadata, spec: { color: "red", size: 1 } });
  informers.put(Widget, { metadata, spec: { color: "blue", size: 2 } });
  informers.put(Widget, { metadata, spec: { color: "blue", size: 3 } });
  stop();
  informers.delete(Widget, metadata);

  assert.deepEqual(seen, [
    "red: put undefined",
    "red: put 1 after undefined",
    "blue: put 2",
    "red: delete 2",
    "blue: put 3 after 2",
  ]);
});
