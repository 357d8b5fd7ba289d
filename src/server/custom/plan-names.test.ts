import assert from "node:assert/strict";
import { test } from "node:test";
import { planNames, usedNames } from "./plan-names.ts";

const none = { plural: "", kind: "" };
const wanted = { plural: "crates", singular: "crate", kind: "Crate", listKind: "CrateList", shortNames: ["cr"] };

test("planNames() accepts names that nobody has", () => {
  const { names, condition } = planNames(wanted, none, usedNames([]));

  assert.deepEqual(names, wanted);
  assert.deepEqual([condition.status, condition.reason], ["True", "NoConflicts"]);
});

test("planNames() keeps names that the definition already has", () => {
  const { condition } = planNames(wanted, wanted, usedNames([wanted]));

  assert.equal(condition.status, "True");
});

for (const [name, reason] of [
  ["plural", "PluralConflict"],
  ["singular", "SingularConflict"],
  ["kind", "KindConflict"],
  ["listKind", "ListKindConflict"],
] as const) {
  test(`planNames() refuses a ${name} that is in use, and accepts the rest`, () => {
    const { names, condition } = planNames(wanted, none, usedNames([{ ...none, [name]: wanted[name] }]));

    assert.deepEqual([condition.status, condition.reason], ["False", reason]);
    assert.equal(condition.message, `${JSON.stringify(wanted[name])} is already in use`);
    assert.notEqual(names[name], wanted[name]);
  });
}

test("planNames() refuses short names that are in use, all of them in one message", () => {
  const others = usedNames([{ ...none, shortNames: ["a", "b"] }]);
  const { names, condition } = planNames({ ...wanted, shortNames: ["a", "b", "c"] }, none, others);

  assert.equal(condition.message, '["a" is already in use, "b" is already in use]');
  assert.equal(names.shortNames, undefined);
});
