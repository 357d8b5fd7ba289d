import assert from "node:assert/strict";
import { test } from "node:test";
import { makePod, podKey } from "#testing/scheduling.ts";
import { roomOf } from "./attempt.ts";

test("an attempt says who ends for it, and whether its pod goes on to wait where it did", () => {
  const pod = makePod("web");
  const outcomeOf = (nominate: string | null | undefined, victims = [{ key: podKey(pod), pod }]) =>
    roomOf({ message: "", nominate, victims, run: async () => {} });

  assert.deepEqual(outcomeOf("node-1"), { victims: ["default/web"], keepsNomination: false });
  assert.deepEqual(outcomeOf(null, []), { victims: [], keepsNomination: false });
  assert.deepEqual(outcomeOf(undefined, []), { victims: [], keepsNomination: true });
  assert.deepEqual(roomOf(undefined), { victims: undefined, keepsNomination: true });
});
