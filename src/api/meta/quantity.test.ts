import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addQuantities,
  compareQuantities,
  quantityMilliValue,
  quantityOf,
  quantityOfMilli,
  quantityValue,
  subtractQuantities,
} from "./quantity.ts";

const orders = [
  { a: "1", b: "1000m", order: 0 },
  { a: "1Ki", b: "1k", order: 1 },
  { a: "-1", b: "0", order: -1 },
  { a: "9007199254740993", b: "9007199254740992", order: 1 },
  { a: "1e3", b: "1k", order: 0 },
];
for (const { a, b, order } of orders) {
  test(`compareQuantities() puts ${a} and ${b} in order`, () => {
    assert.equal(compareQuantities(a, b), order);
    assert.equal(compareQuantities(b, a), order === 0 ? 0 : -order);
  });
}

test("sums keep the form of the first that is not zero", () => {
  assert.equal(addQuantities("1Gi", "512Mi"), "1536Mi");
  assert.equal(addQuantities("0", "1Gi"), "1Gi");
  assert.equal(addQuantities("100m", "0.9"), "1");
  assert.equal(subtractQuantities("1Gi", "1Gi"), "0");
  assert.equal(subtractQuantities("1", "1500m"), "-500m");
});

test("whole units and thousandths are rounded away from zero", () => {
  assert.equal(quantityValue("1.5"), 2);
  assert.equal(quantityValue("-1.5"), -2);
  assert.equal(quantityValue("1Gi"), 1073741824);
  assert.equal(quantityMilliValue("1u"), 1);
  assert.equal(quantityMilliValue("2"), 2000);
});

test("numbers become canonical quantities", () => {
  assert.equal(quantityOf(1073741824, "binary"), "1Gi");
  assert.equal(quantityOf(1000), "1k");
  assert.equal(quantityOfMilli(1500), "1500m");
});
