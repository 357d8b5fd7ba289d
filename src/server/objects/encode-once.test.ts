import assert from "node:assert/strict";
import { test } from "node:test";
import { Widget } from "#testing/widget.ts";
import { codecOf, decodeStored, EncodedObject, textOf, toStoredBytes } from "./encode-once.ts";

const widget = (): Widget => ({ metadata: { name: "a", labels: { app: "web" } }, spec: { size: 1 } }) as never;

test("a codec that freezes has frozen objects, and leaves those of another server of the process alone", () => {
  for (const freezes of [true, false]) {
    const codec = codecOf(Widget, { freezes });
    const bytes = toStoredBytes(codec, widget(), 3);

    const read = decodeStored<Widget>(codec, bytes, 3);
    const written = new EncodedObject<Widget>(codec, 3, { object: widget() });

    for (const encoded of [read, written, read.at(4), written.at(4)]) {
      assert.deepEqual(Object.isFrozen(encoded.object.metadata.labels), freezes);
      assert.equal(encoded.object.metadata.resourceVersion, String(encoded.revision));
    }
  }
});

test("the stored text is the JSON of the object, whether or not its field sets are shared", () => {
  const set = { "f:spec": { "f:size": {}, 'k:{"a":""é"}': { ".": {} } } };
  const long = { "f:data": { [`f:${"x".repeat(10_000)}`]: {} } };
  const entry = { manager: 'a"b', operation: "Update", time: undefined, fieldsV1: set };
  for (const managedFields of [[], [entry], [entry, { ...entry, manager: "c" }, { fieldsV1: long }], [{}], undefined]) {
    const { spec, metadata } = widget();
    const object = { metadata: { ...metadata, managedFields, uid: "u" }, spec } as never as Widget;

    const {
      kind: _kind,
      apiVersion: _version,
      ...stored
    } = JSON.parse(textOf(toStoredBytes(codecOf(Widget), object, 0)));

    assert.deepEqual(stored, JSON.parse(JSON.stringify(object)));
  }
});

test("an object that was frozen before can be adopted again at the same revision", () => {
  const codec = codecOf(Widget, { freezes: true });
  const { object } = new EncodedObject<Widget>(codec, 3, { object: widget() });

  assert.equal(new EncodedObject<Widget>(codec, 3, { object }).object, object);
});
