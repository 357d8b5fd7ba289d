import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { codecOf, EncodedObject } from "./encode-once.ts";
import { EventRing } from "./event-ring.ts";
import { type CacheEvent } from "./watch-groups.ts";

const chunk = { limit: 1000, maxBytes: 1 << 20 };

function eventAt(revision: number): CacheEvent {
  const object = { metadata: { name: `a${revision}` } };
  const encoded = new EncodedObject(codecOf(ConfigMap), revision, { object, stored: new Uint8Array(100) });
  return { type: "put", revision, encoded, previous: undefined } as unknown as CacheEvent;
}
function ringWith(...revisions: number[]): EventRing {
  const ring = new EventRing();
  ring.start(0);
  ring.push(revisions.map(eventAt));
  return ring;
}
const revisionsAfter = (ring: EventRing, revision: number) =>
  ring.after(revision, chunk)?.map((event) => event.revision);

test("a ring forgets what the store has dropped", () => {
  const ring = ringWith(1, 2, 3, 4);

  ring.forget(2);

  assert.equal(ring.oldest, 2);
  assert.equal(revisionsAfter(ring, 1), undefined);
  assert.deepEqual(revisionsAfter(ring, 2), [3, 4]);
});

test("a ring keeps a small old part rather than copy the rest for each event", () => {
  const ring = ringWith(1, 2, 3, 4, 5, 6, 7, 8);

  ring.forget(1);

  assert.equal(ring.oldest, 0);
  assert.deepEqual(revisionsAfter(ring, 0)?.length, 8);
});

test("a ring cuts itself in halves when it holds too many bytes", () => {
  const ring = new EventRing({ maxEvents: 100, maxBytes: 1000 });
  ring.start(0);

  for (let revision = 1; revision <= 11; revision++) ring.push([eventAt(revision)]);

  assert.equal(ring.oldest, 6);
  assert.deepEqual(revisionsAfter(ring, 6), [7, 8, 9, 10, 11]);
});
