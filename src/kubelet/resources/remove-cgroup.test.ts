import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type CgroupTree, removeCgroup } from "./remove-cgroup.ts";

const failure = (code: string) => Object.assign(new Error(code), { code });

/** Groups and their processes. A process that is killed ends after so long. */
function fakeTree(clock: { now(): number }, groups: Record<string, number[]>, endsAfterMs = 0) {
  const left = new Map(Object.entries(groups));
  const endsAt = new Map<number, number>();
  const killed: number[] = [];
  const alive = (dir: string) =>
    (left.get(dir) ?? []).filter((pid) => pid === 0 || (endsAt.get(pid) ?? Infinity) > clock.now());
  const children = (dir: string) =>
    [...left.keys()].filter((other) => other.startsWith(`${dir}/`)).map((other) => other.slice(dir.length + 1));
  const tree: CgroupTree = {
    children: async (dir) => (left.has(dir) ? children(dir).filter((name) => !name.includes("/")) : undefined),
    processes: async (dir) => alive(dir),
    kill(pid) {
      if (!endsAt.has(pid)) endsAt.set(pid, clock.now() + endsAfterMs);
      killed.push(pid);
    },
    async remove(dir) {
      if (alive(dir).length > 0 || children(dir).length > 0) throw failure("EBUSY");
      left.delete(dir);
    },
  };
  return { tree, left, killed };
}

test("removeCgroup() kills first what runs in the group and below", async () => {
  const clock = createVirtualClock();
  const { tree, left, killed } = fakeTree(clock, { "/g": [1], "/g/a": [2], "/g/a/b": [3], "/other": [4] });

  await removeCgroup(clock, "/g", tree);

  assert.deepEqual(killed, [3, 2, 1]);
  assert.deepEqual([...left.keys()], ["/other"]);
});

test("removeCgroup() waits while the kernel ends what was killed, with pauses", async () => {
  const clock = createVirtualClock();
  const { tree, left, killed } = fakeTree(clock, { "/g": [], "/g/a": [2] }, 5_000);

  const removed = removeCgroup(clock, "/g", tree);
  await clock.advance(4_000);
  const early = left.size;
  await clock.advance(2_000);
  await removed;

  assert.deepEqual([early, left.size], [2, 0]);
  assert(killed.length < 100, `${killed.length} rounds in five seconds`);
});

test("removeCgroup() gives up on a process that does not end, and names it", async () => {
  const clock = createVirtualClock();
  const { tree } = fakeTree(clock, { "/g": [7] }, Infinity);

  const removed = assert.rejects(removeCgroup(clock, "/g", tree), /cgroup \/g is still busy after 10 s.*: 7$/);
  await clock.advance(11_000);

  await removed;
});

test("removeCgroup() sends no signal to a process outside its namespace", async () => {
  const clock = createVirtualClock();
  const { tree, killed } = fakeTree(clock, { "/g": [0] });

  const removed = assert.rejects(removeCgroup(clock, "/g", tree), /do not end: none/);
  await clock.advance(11_000);

  await removed;
  assert.deepEqual(killed, []);
});

test("removeCgroup() reports other failures at once, and leaves alone what is not there", async () => {
  const clock = createVirtualClock();
  const { tree } = fakeTree(clock, { "/g": [] });
  const refusing = { ...tree, remove: async () => Promise.reject(failure("EPERM")) };

  await assert.rejects(removeCgroup(clock, "/g", refusing), { code: "EPERM" });
  await removeCgroup(clock, "/absent", tree);
});
