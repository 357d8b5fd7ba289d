import assert from "node:assert/strict";
import { createCipheriv, randomBytes } from "node:crypto";
import { test } from "node:test";
import { poly1305 } from "./poly1305.ts";
import { openBox, sealBox } from "./secretbox.ts";

const hex = (text: string): Buffer => Buffer.from(text, "hex");

/** The vector of the NaCl paper. */
const naclVector = {
  key: hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"),
  nonce: hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"),
  plain: hex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705",
  ),
  box: hex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5",
  ),
};

test("sealBox() and openBox() agree with the vector of the NaCl paper", () => {
  const { key, nonce, plain, box } = naclVector;

  assert.deepEqual(Buffer.from(sealBox(plain, nonce, key)), box);
  assert.deepEqual(Buffer.from(openBox(box, nonce, key) ?? []), plain);
});

test("poly1305() agrees with the vectors of RFC 8439", () => {
  const tag = poly1305(
    Buffer.from("Cryptographic Forum Research Group"),
    hex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b"),
  );
  // The sum is just above the modulus, and the carry reaches the last limb.
  const wrapped = poly1305(hex("ff".repeat(16)), hex(`02${"00".repeat(31)}`));
  const full = poly1305(hex(`02${"00".repeat(15)}`), hex(`02${"00".repeat(15)}${"ff".repeat(16)}`));

  assert.equal(Buffer.from(tag).toString("hex"), "a8061dc1305136c6c22b8baf0c0127a9");
  assert.equal(Buffer.from(wrapped).toString("hex"), `03${"00".repeat(15)}`);
  assert.equal(Buffer.from(full).toString("hex"), `03${"00".repeat(15)}`);
});

test("poly1305() agrees with OpenSSL's for messages of all lengths", () => {
  for (const length of [0, 1, 15, 16, 17, 63, 64, 65, 1000]) {
    const key = randomBytes(32);
    const nonce = randomBytes(12);
    const cipher = createCipheriv("chacha20-poly1305", key, nonce, { authTagLength: 16 });
    const sealed = Buffer.concat([cipher.update(Buffer.alloc(length)), cipher.final()]);
    // The same construction by hand: the tag's key is the first block of the key stream.
    const stream = createCipheriv("chacha20", key, Buffer.concat([Buffer.alloc(4), nonce])).update(Buffer.alloc(32));
    const lengths = Buffer.alloc(16);
    lengths.writeBigUInt64LE(BigInt(length), 8);
    const padded = Buffer.concat([sealed, Buffer.alloc((16 - (length % 16)) % 16), lengths]);

    assert.deepEqual(Buffer.from(poly1305(padded, stream)), cipher.getAuthTag());
  }
});

test("openBox() refuses a box that was changed, cut, or made with another key", () => {
  const { key, nonce, box } = naclVector;

  for (const at of [0, 15, 16, box.length - 1]) {
    const changed = Buffer.from(box);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(openBox(changed, nonce, key), undefined);
  }
  assert.equal(openBox(box.subarray(0, -1), nonce, key), undefined);
  assert.equal(openBox(box.subarray(0, 8), nonce, key), undefined);
  assert.equal(openBox(box, nonce, randomBytes(32)), undefined);
});

test("a box of any length opens to what was sealed", () => {
  for (const length of [0, 1, 31, 32, 33, 64, 96, 5000]) {
    const [key, nonce, plain] = [randomBytes(32), randomBytes(24), randomBytes(length)];

    assert.deepEqual(Buffer.from(openBox(sealBox(plain, nonce, key), nonce, key) ?? []), plain);
  }
});
