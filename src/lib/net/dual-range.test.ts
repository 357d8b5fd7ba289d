import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeRange6, parseCidr6, parseDualRange } from "./dual-range.ts";

test("parseCidr6() knows its addresses and writes itself in canonical form", () => {
  const range = parseCidr6("FD00:0244:0:0:1::/56");
  assert.equal(range.text, "fd00:244::/56");
  assert.equal(range.contains("fd00:244:0:ff::1"), true);
  assert.equal(range.contains("fd00:244:0:100::1"), false);
  assert.equal(range.contains("10.0.0.1"), false);
  assert.equal(range.overlaps(parseCidr6("fd00:244:0:7::/64")), true);
  assert.equal(range.overlaps(parseCidr6("fd00:245::/56")), false);
});

for (const text of ["10.0.0.0/8", "fd00::", "fd00::/129", "fd00::%eth0/64", "fd00::/64 dev lo", "", "::ffff:zz/1"]) {
  test(`parseCidr6() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseCidr6(text), /not an IPv6 range/);
  });
}

test("parseDualRange() reads one range, or one of each family", () => {
  assert.deepEqual(parseDualRange("10.244.0.0/16"), { ipv4: "10.244.0.0/16", ipv6: undefined });
  assert.deepEqual(parseDualRange("10.244.0.0/16, fd00:1::/56"), { ipv4: "10.244.0.0/16", ipv6: "fd00:1::/56" });
  for (const wrong of ["fd00::/56", "10.0.0.0/8,10.1.0.0/16", "10.0.0.0/8,", "10.0.0.0/8,fd00::/56,fd01::/56"])
    assert.throws(() => parseDualRange(wrong));
});

test("nodeRange6() gives every node a /64 of its own, as long as there are some", () => {
  const cluster = parseCidr6("fd00:244::/56");
  assert.deepEqual(
    [0, 1, 255, 256].map((n) => nodeRange6(cluster, n)),
    ["fd00:244::/64", "fd00:244:0:1::/64", "fd00:244:0:ff::/64", undefined],
  );
  assert.equal(nodeRange6(parseCidr6("fd00::/80"), 0), undefined);
});
