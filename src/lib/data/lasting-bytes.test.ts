import assert from "node:assert/strict";
import { test } from "node:test";
import { lastingBytes, lastingConcat } from "./lasting-bytes.ts";

test("lasting bytes hold no more memory than their own length", () => {
  const text = "größer als ein Zeichen: 漢字";

  const bytes = lastingBytes(text);
  const joined = lastingConcat([Buffer.from("a"), bytes]);

  assert.equal(bytes.toString(), text);
  assert.equal(joined.toString(), `a${text}`);
  assert.equal(bytes.buffer.byteLength, bytes.length);
  assert.equal(joined.buffer.byteLength, joined.length);
});
