import assert from "node:assert/strict";
import { test } from "node:test";
import { type Write, type WriteHook } from "../write.ts";
import { withHooks } from "./hooks.ts";

const about = { write: {} as Write, version: { object: { metadata: { name: "a" } }, old: undefined } };

/** Hooks that record when they run and when they end. */
function recorder() {
  const seen: string[] = [];
  const hook =
    (name: string): WriteHook =>
    async () => {
      seen.push(name);
      return () => seen.push(`end ${name}`);
    };
  return { seen, hook };
}

test("withHooks() commits after the hooks, and ends each of them after that", async () => {
  const { seen, hook } = recorder();
  const idle: WriteHook = () => undefined;

  const result = await withHooks([hook("a"), idle, hook("b")], about, () => seen.push("commit"));

  assert.equal(result, 3);
  assert.deepEqual(seen, ["a", "b", "commit", "end a", "end b"]);
});

test("withHooks() ends the hooks of a commit that fails", async () => {
  const { seen, hook } = recorder();

  await assert.rejects(
    withHooks([hook("a")], about, () => Promise.reject(new Error("no room"))),
    { message: "no room" },
  );

  assert.deepEqual(seen, ["a", "end a"]);
});

test("withHooks() ends the hooks before one that fails, and does not commit", async () => {
  const { seen, hook } = recorder();
  const failing: WriteHook = () => Promise.reject(new Error("no address"));

  await assert.rejects(
    withHooks([hook("a"), failing, hook("b")], about, () => seen.push("commit")),
    { message: "no address" },
  );

  assert.deepEqual(seen, ["a", "end a"]);
});
