import assert from "node:assert/strict";
import { isIPv4, isIPv6 } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { formatIPv4, parseCidr, parseIPv4, parseIPv6, versionOfIP } from "./ip.ts";

const addresses: Readonly<Record<string, number | undefined>> = {
  "0.0.0.0": 0,
  "10.96.0.1": 174063617,
  "255.255.255.255": 2 ** 32 - 1,
  "256.0.0.0": undefined,
  "10.0.0": undefined,
  "10.0.0.01": undefined,
  "10.0.0.0.0": undefined,
  "10.0.0.": undefined,
  " 10.0.0.1": undefined,
  "::1": undefined,
  "": undefined,
};
for (const [text, number] of Object.entries(addresses)) {
  test(`parseIPv4() reads ${JSON.stringify(text)} as ${number}`, () => {
    assert.equal(parseIPv4(text), number);
    if (number !== undefined) assert.equal(formatIPv4(number), text);
  });
}

const ranges: readonly { text: string; base: string; size: number; inside: string[]; outside: string[] }[] = [
  { text: "10.96.0.0/16", base: "10.96.0.0", size: 65536, inside: ["10.96.255.255"], outside: ["10.97.0.0", "x"] },
  { text: "10.1.2.3/24", base: "10.1.2.0", size: 256, inside: ["10.1.2.0"], outside: ["10.1.1.255"] },
  { text: "10.1.2.3/32", base: "10.1.2.3", size: 1, inside: ["10.1.2.3"], outside: ["10.1.2.4"] },
  { text: "1.2.3.4/0", base: "0.0.0.0", size: 2 ** 32, inside: ["255.255.255.255"], outside: ["::1"] },
];
for (const { text, base, size, inside, outside } of ranges) {
  test(`parseCidr() knows what is in ${text}`, () => {
    const range = parseCidr(text);

    assert.deepEqual([formatIPv4(range.base), range.size], [base, size]);
    assert.ok(inside.every(range.contains));
    assert.ok(!outside.some(range.contains));
  });
}

for (const text of ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "/8", "fd00::/8"]) {
  test(`parseCidr() refuses ${text}`, () => {
    assert.throws(() => parseCidr(text), /not an IPv4 range/);
  });
}

test("parseIPv6() reads every spelling of an address", () => {
  const hex = (text: string) => Buffer.from(parseIPv6(text) ?? []).toString("hex");

  assert.equal(hex("fd00::1:2"), "fd000000000000000000000000010002");
  assert.equal(hex("::ffff:10.1.2.3"), "00000000000000000000ffff0a010203");
  assert.equal(hex("1:2:3:4:5:6:7::"), "00010002000300040005000600070000");
  assert.equal(hex("::"), "0".repeat(32));
  for (const text of ["10.1.2.3", "fe80::1%eth0", "1::2::3", ""]) assert.equal(parseIPv6(text), undefined, text);
});

test("parseIPv4() and parseIPv6() accept the same texts as Node", () => {
  const piece = fc.constantFrom(
    ":",
    ":",
    "::",
    ".",
    "0",
    "1",
    "01",
    "255",
    "256",
    "ab",
    "F00d",
    "12345",
    "g",
    "1.2.3.4",
    "%",
  );
  const text = fc.array(piece, { maxLength: 17 }).map((pieces) => pieces.join(""));
  const groups = fc.array(fc.constantFrom("0", "ab", "ffff", "", "10.1.2.3"), { minLength: 3, maxLength: 9 });

  fc.assert(
    fc.property(
      fc.oneof(
        text,
        groups.map((list) => list.join(":")),
        fc.ipV4(),
        fc.ipV6(),
      ),
      (address) => {
        assert.equal(parseIPv4(address) !== undefined, isIPv4(address));
        assert.equal(parseIPv6(address) !== undefined, isIPv6(address) && !address.includes("%"));
      },
    ),
    { numRuns: 5000 },
  );
});

test("parseIPv6() reads what URL writes", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
      assert.deepEqual(parseIPv6(short), parseIPv6(address));
    }),
  );
});

test("the version of an address is known, and names have none", () => {
  const texts = ["10.0.0.1", "::1", "fe80::1%eth0", "localhost", "", "1.2.3", "a:b", "256.0.0.1"];

  assert.deepEqual(texts.map(versionOfIP), [4, 6, 6, 0, 0, 0, 0, 0]);
});
