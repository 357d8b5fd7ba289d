import assert from "node:assert/strict";
import { test } from "node:test";
import { BesideRefused } from "#server/objects/beside.ts";
import { type Write, type WriteHook } from "../write.ts";
import { withHooks } from "./hooks.ts";

const objects = { catchUp: () => undefined };
const about = { write: {} as Write, version: { object: { metadata: { name: "a" } }, old: undefined } };

/** Hooks that record when they run and when they end. */
function recorder() {
  const seen: string[] = [];
  const hook =
    (name: string): WriteHook =>
    async () => {
      seen.push(name);
      return { end: () => seen.push(`end ${name}`), undo: () => seen.push(`undo ${name}`) };
    };
  return { seen, hook };
}

test("withHooks() commits after the hooks, and ends each of them after that", async () => {
  const { seen, hook } = recorder();
  const idle: WriteHook = () => undefined;

  const result = await withHooks({ hooks: [hook("a"), idle, hook("b")], objects }, about, () => seen.push("commit"));

  assert.equal(result, 3);
  assert.deepEqual(seen, ["a", "b", "commit", "end a", "end b"]);
});

test("withHooks() takes back and ends the hooks of a commit that fails", async () => {
  const { seen, hook } = recorder();

  await assert.rejects(
    withHooks({ hooks: [hook("a")], objects }, about, () => Promise.reject(new Error("no room"))),
    { message: "no room" },
  );

  assert.deepEqual(seen, ["a", "undo a", "end a"]);
});

test("withHooks() takes back and ends the hooks before one that fails, and does not commit", async () => {
  const { seen, hook } = recorder();
  const failing: WriteHook = () => Promise.reject(new Error("no address"));

  await assert.rejects(
    async () => withHooks({ hooks: [hook("a"), failing, hook("b")], objects }, about, () => seen.push("commit")),
    { message: "no address" },
  );

  assert.deepEqual(seen, ["a", "undo a", "end a"]);
});

test("withHooks() lets the hooks choose again if another server was faster", async () => {
  const { seen, hook } = recorder();
  let refusals = 1;

  await withHooks({ hooks: [hook("a")], objects }, about, () => {
    if (refusals-- > 0) throw new BesideRefused("taken");
    seen.push("commit");
  });

  assert.deepEqual(seen, ["a", "undo a", "end a", "a", "commit", "end a"]);
});

test("withHooks() gives up when every choice is taken", async () => {
  const { hook } = recorder();
  const write = { resource: { group: "", plural: "services", kind: "Service" } } as unknown as Write;

  await assert.rejects(
    withHooks({ hooks: [hook("a")], objects }, { ...about, write }, () => Promise.reject(new BesideRefused("taken"))),
    { reason: "Conflict" },
  );
});
