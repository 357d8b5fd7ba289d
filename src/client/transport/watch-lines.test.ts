import assert from "node:assert/strict";
import { test } from "node:test";
import { isExpired } from "#api/status.ts";
import { LineSplitter, parseWatchEvent } from "./watch-lines.ts";

test("LineSplitter returns the same lines wherever the chunks end, even within a character", () => {
  const text = 'first\nsécönd 🚢 line\n\n{"third":"日本"}\n';
  const bytes = Buffer.from(text);

  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new LineSplitter();
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...splitter.push(bytes.subarray(at, at + size)));
    assert.deepEqual(lines, ["first", "sécönd 🚢 line", '{"third":"日本"}']);
    assert.equal(splitter.end(), "");
  }
});

test("parseWatchEvent() reads events, bookmarks and errors", () => {
  const metadata = { name: "a", resourceVersion: "5" };

  assert.deepEqual(parseWatchEvent(JSON.stringify({ type: "ADDED", object: { metadata }, trace: "t" })), {
    type: "ADDED",
    object: { metadata },
    trace: "t",
  });
  const annotations = { "k8s.io/initial-events-end": "true" };
  assert.deepEqual(
    parseWatchEvent(JSON.stringify({ type: "BOOKMARK", object: { metadata: { ...metadata, annotations } } })),
    {
      type: "BOOKMARK",
      resourceVersion: "5",
      initialEventsEnd: true,
    },
  );
  assert.throws(
    () => parseWatchEvent('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}'),
    isExpired,
  );
  assert.throws(() => parseWatchEvent('{"type":"AD'), /unable to decode an event/);
});
