import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { makeNode, makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type ClusterChange, type QueuedPod, type SchedulerPlugin } from "./framework.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { SchedulingQueue } from "./queue.ts";

/** Rejects pods that only a new node can help. */
const needsNode: SchedulerPlugin = { name: "NeedsNode", retryOn: { node: (_pod, { change }) => change === "created" } };
/** Rejects pods that only a pod with the same name can help. */
const needsPod: SchedulerPlugin = {
  name: "NeedsPod",
  retryOn: { pod: ({ metadata }, { object }) => metadata.name === object.metadata.name },
};

function setup() {
  const clock = createVirtualClock();
  const queue = new SchedulingQueue(clock, [
    { schedulerName: "default-scheduler", plugins: [prioritySort, needsNode, needsPod] },
  ]);
  const put = (name: string, spec: Parameters<typeof makePod>[1] = {}) => queue.put(name, makePod(name, spec));
  const take = (name: string): QueuedPod => {
    const next = queue.tryNext();
    assert.equal(next?.key, name);
    return next;
  };
  const reject = (name: string, ...plugins: string[]) => queue.rejected(take(name), new Set(plugins));
  return { clock, queue, put, take, reject };
}

const nodeCreated: ClusterChange = {
  kind: "Node",
  change: "created",
  object: makeNode("a"),
  previous: undefined,
  info: undefined,
};
const podLeft = (object: Pod): ClusterChange => ({
  kind: "Pod",
  change: "deleted",
  object,
  info: undefined,
  freesRoom: true,
});

test("the queue returns the pod with the highest priority, and among equals the oldest", async () => {
  const { clock, queue, put, take } = setup();
  put("first");
  put("second");
  await clock.advance(5);
  put("important", { priority: 10 });
  put("third");

  for (const name of ["important", "first", "second", "third"]) take(name);

  assert.equal(queue.tryNext(), undefined);
});

test("the queue wakes a waiting next() call", async () => {
  const { clock, queue, put } = setup();
  const next = queue.next(new AbortController().signal);
  await clock.settle();

  put("late");

  assert.equal((await next).key, "late");
});

test("the queue stops waiting when the signal fires", async () => {
  const { queue } = setup();
  const stop = new AbortController();
  const next = queue.next(stop.signal);

  stop.abort(new Error("enough"));

  await assert.rejects(next, { message: "enough" });
});

test("a rejected pod waits for a change that one of the rejecting plugins names", async () => {
  const { clock, queue, put, take, reject } = setup();
  put("p");
  reject("p", "NeedsNode");
  await clock.advance(60_000);
  assert.equal(queue.placeOf("p"), "unschedulable");

  queue.changed(podLeft(makePod("p")));
  queue.changed({ ...nodeCreated, change: "updated" });
  assert.equal(queue.placeOf("p"), "unschedulable");
  queue.changed(nodeCreated);

  take("p");
});

test("a hint gets the pod and the change", async () => {
  const { clock, queue, put, reject } = setup();
  put("p");
  put("q");
  reject("p", "NeedsPod");
  reject("q", "NeedsPod", "NeedsNode");
  await clock.advance(60_000);

  queue.changed(podLeft(makePod("p")));

  assert.equal(queue.placeOf("p"), "active");
  assert.equal(queue.placeOf("q"), "unschedulable");
});

test("a pod that found no node at all waits for one", async () => {
  const { clock, queue, put, reject } = setup();
  put("p");
  reject("p");
  await clock.advance(60_000);

  queue.changed(podLeft(makePod("p")));
  assert.equal(queue.placeOf("p"), "unschedulable");
  queue.changed(nodeCreated);

  assert.equal(queue.placeOf("p"), "active");
});

test("attempts that end with an error back off from one second, doubling to ten", async () => {
  const { clock, queue, put, take } = setup();
  put("p");
  const pauses: number[] = [];

  for (let attempt = 0; attempt < 6; attempt++) {
    queue.failed(take("p"));
    const failedAt = clock.now();
    assert.equal(queue.placeOf("p"), "backoff");
    await clock.runUntil(() => queue.placeOf("p") === "active", 60_000);
    pauses.push(clock.now() - failedAt);
  }

  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("backoff begins when the attempt ends, not when it began", async () => {
  const { clock, queue, put, take } = setup();
  put("p");
  const queued = take("p");
  await clock.advance(5000);

  queue.failed(queued);

  assert.equal(queue.placeOf("p"), "backoff");
  await clock.advance(999);
  assert.equal(queue.placeOf("p"), "backoff");
  await clock.advance(1);
  assert.equal(queue.placeOf("p"), "active");
});

test("a pod that is woken soon after it was rejected backs off behind others", () => {
  const { queue, put, take, reject } = setup();
  put("p");
  reject("p", "NeedsNode");
  put("other");

  queue.changed(nodeCreated);

  assert.equal(queue.placeOf("p"), "backoff");
  take("other");
});

test("when the queue is otherwise idle, pods that a change woke skip their backoff, until one is rejected", async () => {
  const { clock, queue, put, take, reject } = setup();
  for (const name of ["p", "q", "r"]) put(name);
  for (const name of ["p", "q", "r"]) reject(name, "NeedsNode");
  queue.changed(nodeCreated);
  assert.deepEqual(queue.sizes.backoff, 3);

  take("p");
  reject("q", "NeedsNode");

  assert.equal(queue.tryNext(), undefined);
  assert.equal(queue.placeOf("r"), "backoff");
  await clock.advance(1000);
  take("r");
});

test("pods whose rejections wake each other do not keep the scheduler busy", async () => {
  const { clock, queue, put, reject } = setup();
  put("p");
  reject("p", "NeedsNode");

  let attempts = 0;
  const tryOn = (): void => {
    queue.changed(nodeCreated);
    for (let next = queue.tryNext(); next && attempts < 100; next = queue.tryNext()) {
      attempts++;
      queue.rejected(next, new Set(["NeedsNode"]));
      queue.changed(nodeCreated);
    }
  };
  tryOn();
  assert.equal(attempts, 1);
  await clock.advance(99);
  tryOn();
  assert.equal(attempts, 1);
  await clock.advance(1);
  tryOn();
  assert.equal(attempts, 2);
});

test("pods that failed with an error always wait", () => {
  const { queue, put, take } = setup();
  put("p");
  queue.failed(take("p"));

  queue.changed(nodeCreated);

  assert.equal(queue.tryNext(), undefined);
});

test("changes during an attempt are not lost", async () => {
  const { clock, queue, put, take } = setup();
  put("p");
  const queued = take("p");

  queue.changed(nodeCreated);
  queue.rejected(queued, new Set(["NeedsNode"]));

  assert.equal(queue.placeOf("p"), "backoff");
  await clock.advance(1000);
  take("p");
});

test("changes during an attempt that cannot help are ignored", () => {
  const { queue, put, take } = setup();
  put("p");
  const queued = take("p");

  queue.changed(podLeft(makePod("p")));
  queue.rejected(queued, new Set(["NeedsNode"]));

  assert.equal(queue.placeOf("p"), "unschedulable");
});

test("a change of the pod itself during an attempt leads to another attempt", () => {
  const { queue, put, take } = setup();
  put("p");
  const queued = take("p");

  put("p", { tolerations: [{ operator: "Exists" }] });
  queue.rejected(queued, new Set(["NeedsNode"]));

  assert.equal(queue.placeOf("p"), "backoff");
});

test("a waiting pod is tried again when its spec or labels change, not when its status does", async () => {
  const { clock, queue, put, reject } = setup();
  for (const name of ["p", "q", "r"]) put(name);
  for (const name of ["p", "q", "r"]) reject(name, "NeedsNode");
  await clock.advance(60_000);

  put("p", { status: { message: "waiting" } });
  put("q", { tolerations: [{ operator: "Exists" }] });
  put("r", { labels: { app: "web" } });

  assert.deepEqual(
    ["p", "q", "r"].map((name) => queue.placeOf(name)),
    ["unschedulable", "active", "active"],
  );
});

test("an attempt gets the newest version of the pod", async () => {
  const { put, take } = setup();
  put("p");
  put("p", { status: { message: "newest" } });

  assert.equal(take("p").pod.status?.message, "newest");
});

test("deleted pods are not returned, wherever they were", async () => {
  const { clock, queue, put, take, reject } = setup();
  for (const name of ["trying", "waiting", "failing", "active"]) put(name);
  const trying = take("trying");
  reject("waiting", "NeedsNode");
  queue.failed(take("failing"));

  for (const name of ["trying", "waiting", "failing", "active"]) queue.delete(name);
  queue.rejected(trying, new Set(["NeedsNode"]));
  queue.failed(trying);
  queue.changed(nodeCreated);
  await clock.advance(600_000);

  assert.equal(queue.tryNext(), undefined);
  assert.deepEqual(queue.sizes, { active: 0, backoff: 0, unschedulable: 0, trying: 0 });
  assert.equal(clock.pending, 0);
});

test("a pod that comes back under the same key is a new one", () => {
  const { queue, put, take } = setup();
  put("p");
  queue.delete("p");
  put("p");

  assert.equal(take("p").attempts, 1);
  assert.equal(queue.tryNext(), undefined);
});

test("a pod that has waited for five minutes is tried again", async () => {
  const { clock, queue, put, reject } = setup();
  put("p");
  reject("p", "NeedsNode");

  await clock.advance(300_000);
  assert.equal(queue.placeOf("p"), "unschedulable");
  await clock.advance(30_000);

  assert.equal(queue.placeOf("p"), "active");
});

test("a pod that waited is tried before one that came later", async () => {
  const { clock, queue, put, take, reject } = setup();
  put("old");
  reject("old", "NeedsNode");
  await clock.advance(20_000);
  put("new");

  queue.changed(nodeCreated);

  take("old");
  take("new");
});

test("a decided pod ignores further changes, and backs off if its binding fails", () => {
  const { queue, put, take } = setup();
  put("p");
  const queued = take("p");

  queue.decided(queued);
  queue.changed(nodeCreated);
  queue.failed(queued);

  assert.equal(queue.placeOf("p"), "backoff");
});

test("a closed queue has no timers", () => {
  const { clock, queue, put, take, reject } = setup();
  put("p");
  put("q");
  reject("p", "NeedsNode");
  queue.failed(take("q"));
  assert.equal(clock.pending, 2);

  queue.close();

  assert.equal(clock.pending, 0);
});

test("a pod is tried again after its backoff when what followed from its attempt failed", async () => {
  for (const isOver of [true, false]) {
    const { clock, queue, put, take } = setup();
    put("a");
    const queued = take("a");
    if (!isOver) queue.again("a");
    queue.rejected(queued, new Set([needsNode.name]));
    if (isOver) queue.again("a");
    queue.again("unknown");
    assert.equal(queue.tryNext(), undefined);

    await clock.advance(1000);

    take("a");
  }
});
