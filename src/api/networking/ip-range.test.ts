import assert from "node:assert/strict";
import { test } from "node:test";
import { parseIpRange } from "./ip-range.ts";

const cases = [
  { cidr: "10.96.0.0/16", first: "10.96.0.1", last: "10.96.255.254", in: "10.96.3.4", out: "10.97.0.1" },
  { cidr: "10.0.0.8/29", first: "10.0.0.9", last: "10.0.0.14", in: "10.0.0.10", out: "10.0.0.16" },
  { cidr: "fd00:1::/112", first: "fd00:1::1", last: "fd00:1::ffff", in: "fd00:1::abcd", out: "fd00:1::1:0" },
  { cidr: "fd00::/64", first: "fd00::1", last: "fd00::ffff:ffff:ffff", in: "fd00::8:0:0:1", out: "fd00:0:0:1::" },
];
for (const { cidr, first, last, in: inside, out } of cases) {
  test(`parseIpRange() allocates from the first to the last address of ${cidr}`, () => {
    const range = parseIpRange(cidr);
    assert(range);

    assert.deepEqual([range.at(range.first), range.at(range.last)], [first, last]);
    assert.deepEqual([range.contains(inside), range.contains(out), range.contains("text")], [true, false, false]);
    assert.deepEqual([range.isUsable(inside), range.isUsable(range.at(0))], [true, false]);
  });
}

test("parseIpRange() refuses text that is no range, and ranges that are too large", () => {
  for (const text of ["", "10.0.0.0", "10.0.0.0/33", "fd00::/48", "x".repeat(10_000)]) {
    assert.equal(parseIpRange(text), undefined);
  }
});

test("a range of one address has none to allocate", () => {
  const range = parseIpRange("10.0.0.1/32");

  assert(range && range.last < range.first);
});

test("includes() compares ranges of the same family", () => {
  const [large, small, other] = ["10.0.0.0/8", "10.1.0.0/16", "fd00::/64"].map(parseIpRange);
  assert(large && small && other);

  assert.deepEqual([large.includes(small), large.includes(large), small.includes(large)], [true, true, false]);
  assert.deepEqual([large.includes(other), other.includes(large)], [false, false]);
});
