import assert from "node:assert/strict";
import { test } from "node:test";
import zlib from "node:zlib";
import { seededRandom } from "#lib/data/random.ts";
import { compressed } from "./compress.ts";

const mebibyte = 1024 * 1024;
const random = seededRandom(1);
/** Neither too regular nor too random. */
const block = Uint8Array.from({ length: 100_000 }, () => 97 + Math.floor(random() * 6));
const textOf = (size: number): Buffer => Buffer.alloc(size, block);

for (const size of [128 * 1024, mebibyte - 1, mebibyte, mebibyte + 1, 3 * mebibyte + 12_345, 17 * mebibyte]) {
  test(`compressed() makes one stream of ${size} bytes`, async () => {
    const body = textOf(size);
    const chunks = [body.subarray(0, 1000), body.subarray(1000)];
    const wire = { type: "body", status: 200, contentType: "application/json", chunks } as const;

    const sent = await compressed(wire, "gzip");

    assert.equal(sent.encoding, "gzip");
    const stream = Buffer.concat(sent.chunks);
    assert.deepEqual(zlib.gunzipSync(stream), body);
    // A reader that knows only streams of one member sees the whole, too.
    assert.deepEqual(zlib.inflateRawSync(stream.subarray(10, -8)), body);
    assert(stream.length < size / 2);
  });
}
