import assert from "node:assert/strict";
import { test } from "node:test";
import { dualRange } from "./command.ts";

const limits = { maxBits: 24, minBits6: 8, maxBits6: 64 };
const read = (text: string) => dualRange(text, "cluster-cidr", limits);

test("dualRange() reads one range, or one of each family", () => {
  assert.deepEqual(read("10.1.0.0/16"), { ipv4: "10.1.0.0/16", ipv6: undefined });
  assert.deepEqual(read("10.1.0.0/16,fd00:1::/56"), { ipv4: "10.1.0.0/16", ipv6: "fd00:1::/56" });
});

for (const [text, why] of [
  ["fd00:1::/56", /must be a range of IPv4 addresses/],
  ["10.1.0.0/16,10.2.0.0/16", /may have one IPv6 range after the IPv4 one/],
  ["10.1.0.0/16,fd00::/56,fd01::/56", /may have one IPv6 range/],
  ["10.1.0.0/16,fd00::/112", /an IPv6 range from \/8 to \/64, not fd00::\/112/],
  ["10.1.0.0/28", /must be a larger range/],
] as const) {
  test(`dualRange() refuses ${text}`, () => {
    assert.throws(() => read(text), why);
  });
}
