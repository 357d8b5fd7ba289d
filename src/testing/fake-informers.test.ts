import assert from "node:assert/strict";
import { test } from "node:test";
import { createFakeInformers } from "./fake-informers.ts";
import { Widget } from "./widget.ts";

test("fake informers have what was put in, scoped ones their part of it", () => {
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
