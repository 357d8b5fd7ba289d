import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type Store } from "#store/store.ts";
import { codecOf, EncodedObject } from "./encode-once.ts";
import { type CacheEvent } from "./watch-groups.ts";
import { WatchHistory } from "./watch-history.ts";

const codec = codecOf(ConfigMap);

function eventAt(revision: number, bytes: number): CacheEvent {
  const encoded = new EncodedObject(codec, revision, { stored: new Uint8Array(bytes) });
  return { type: "put", namespace: "default", revision, encoded, previous: undefined };
}

/** A history of ten revisions with an event each, of which the store then drops some. */
function setUp(bytes: number) {
  const store = { compactedRevision: 0 };
  const history = new WatchHistory({ store: store as Store, codec, prefix: "/registry/configmaps/" });
  history.start(0);
  for (let revision = 1; revision <= 10; revision++) history.push([eventAt(revision, bytes)], revision);
  const oldestAfterDropping = (compacted: number): number => {
    store.compactedRevision = compacted;
    history.pass(compacted + 10);
    return history.oldest;
  };
  return { history, oldestAfterDropping };
}

test("a small ring is told every 64 revisions what the store has dropped", () => {
  const { oldestAfterDropping } = setUp(100);

  assert.deepEqual([8, 63, 64, 127, 128].map(oldestAfterDropping), [0, 0, 64, 64, 64]);
});

test("a ring that holds much is told at once what the store has dropped", () => {
  const { oldestAfterDropping } = setUp(1 << 20);

  assert.equal(oldestAfterDropping(8), 8);
});

test("a ring that starts over is told again", () => {
  const { history, oldestAfterDropping } = setUp(100);
  oldestAfterDropping(640);

  history.start(0);
  history.push([eventAt(1, 100)], 1);

  assert.equal(history.oldest, 640);
});
