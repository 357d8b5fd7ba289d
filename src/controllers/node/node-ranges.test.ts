import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCidr } from "#lib/net/ip.ts";
import { NodeRanges } from "./node-ranges.ts";

/** A pool of four /24 ranges. */
const fourParts = () => new NodeRanges(parseCidr("10.244.0.0/22"), 24);

test("NodeRanges.take() assigns each range once", () => {
  const ranges = fourParts();
  ranges.hold("a", "10.244.0.0/24");

  assert.equal(ranges.take("b"), "10.244.1.0/24");
  assert.equal(ranges.take("c"), "10.244.2.0/24");
});

test("NodeRanges.take() avoids ranges of other sizes", () => {
  const half = fourParts();
  half.hold("a", "10.244.0.0/23");
  const whole = fourParts();
  whole.hold("a", "10.244.0.0/22");

  assert.equal(half.take("b"), "10.244.2.0/24");
  assert.equal(whole.take("b"), undefined);
});

test("NodeRanges.take() returns the same range for the same node", () => {
  const ranges = fourParts();
  ranges.take("a");

  assert.equal(ranges.take("a"), "10.244.0.0/24");
  assert.equal(ranges.take("b"), "10.244.1.0/24");
});

for (const cidr of ["10.244.1.0/24", "10.244.1.64/26", "10.244.0.0/16"]) {
  test(`NodeRanges.release() frees the ranges within ${cidr}`, () => {
    const ranges = fourParts();
    ranges.hold("a", cidr);
    for (let i = 0; i < 4; i++) ranges.take(`n${i}`);

    ranges.release("a");

    const first = cidr === "10.244.0.0/16" ? "10.244.0.0/24" : "10.244.1.0/24";
    assert.equal(ranges.take("b"), first);
  });
}

test("NodeRanges.release() keeps a range that another node also holds", () => {
  const ranges = fourParts();
  ranges.hold("a", "10.244.0.0/24");
  ranges.hold("b", "10.244.0.0/24");

  ranges.release("a");

  assert.equal(ranges.take("c"), "10.244.1.0/24");
});

test("NodeRanges.hold() releases the node's previous range, and accepts IPv6", () => {
  const ranges = fourParts();
  ranges.take("a");

  ranges.hold("a", "fd00::/64");

  assert.equal(ranges.take("b"), "10.244.0.0/24");
});
