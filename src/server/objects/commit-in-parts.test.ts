import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStore } from "#store/memory.ts";
import { type Change } from "#store/store.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { commitInParts } from "./commit-in-parts.ts";

const value = new Uint8Array(1);
const keys = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `/${name}/${at}`);
const toCreate = (all: readonly string[]): Change[] => all.map((key) => ({ key, value, expected: 0 }));

/** A store that takes 128 changes at once, and may lose its answer to one commit. */
function setUp(losesAnswerTo?: number) {
  const store = openMemoryStore({ clock: createVirtualClock() });
  let commits = 0;
  const commit = async (changes: readonly Change[]) => {
    assert.ok(changes.length <= 128);
    const result = await store.commit(changes);
    if (commits++ === losesAnswerTo) throw new Error("timeout");
    return result;
  };
  const count = async (prefix: string) => (await store.list(prefix)).entries.length;
  return { store, commit, count };
}

test("commitInParts() creates everything, however much it is", async () => {
  const { commit, count } = setUp();

  const result = await commitInParts(commit, {
    main: toCreate(["/main"]),
    create: toCreate(keys("a", 350)),
    remove: [],
  });

  assert.ok(result.ok);
  assert.deepEqual([await count("/main"), await count("/a/")], [1, 350]);
});

test("commitInParts() takes back what it created if one thing is refused", async () => {
  const { store, commit, count } = setUp();
  await store.commit(toCreate(["/main"]));

  const parts = { main: toCreate(["/main"]), create: toCreate(keys("a", 350)), remove: [] };
  const result = await commitInParts(commit, parts);

  assert.deepEqual([result.ok, await count("/a/")], [false, 0]);
});

test("commitInParts() keeps what it created if it does not know how the commit ended", async () => {
  const { commit, count } = setUp(3);

  const parts = { main: toCreate(["/main"]), create: toCreate(keys("a", 350)), remove: [] };
  await assert.rejects(commitInParts(commit, parts), /timeout/);

  assert.deepEqual([await count("/main"), await count("/a/")], [1, 350]);
});

test("commitInParts() removes only what is still as it was read", async () => {
  const { store, commit, count } = setUp();
  const created = await store.commit(toCreate(keys("a", 250)));
  assert.ok(created.ok);
  await store.commit([{ key: "/a/249", value }]);

  const remove = keys("a", 250).map((key) => ({ key, value: undefined, expected: created.revision }));
  const result = await commitInParts(commit, { main: toCreate(["/main"]), create: [], remove });

  assert.ok(result.ok);
  assert.equal(await count("/a/"), 50);
});
