import assert from "node:assert/strict";
import { test } from "node:test";
import { PodAddresses } from "./pod-addresses.ts";

test("a pod keeps its address, and gives it back when it is gone or moves to another range", () => {
  const addresses = new PodAddresses();
  const range = "10.0.0.0/30";

  assert.equal(addresses.take("a", range, undefined), "10.0.0.2");
  assert.equal(addresses.take("a", range, undefined), "10.0.0.2");
  assert.equal(addresses.take("b", range, undefined), undefined);
  assert.equal(addresses.take("a", "10.0.1.0/30", undefined), "10.0.1.2");
  assert.equal(addresses.take("b", range, undefined), "10.0.0.2");
  addresses.release("b");
  assert.equal(addresses.take("c", range, "10.0.0.2"), "10.0.0.2");
});
