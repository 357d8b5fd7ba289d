import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { badRequest, notFound, serviceUnavailable, staleObject } from "#api/status.ts";
import { type Client, type ObjectRef } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { makePod, podKey } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { preempt } from "./preempt.ts";

const podOf = (name: string, uid = name): Pod => {
  const pod = makePod(name);
  return { ...pod, metadata: { ...pod.metadata, uid } };
};

const ending = (pod: Pod): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
});

const lost = serviceUnavailable("the answer was lost");

const raise = (error: Error): never => {
  throw error;
};

/** Two victims, and what is said of them. `end` answers when one of them is to be deleted. */
function setUp(
  end: (name: string) => Promise<unknown>,
  get: (name: string) => Promise<Pod> = async (name) => podOf(name),
) {
  const said: string[] = [];
  const clock = createVirtualClock();
  const nameOf = (ref: ObjectRef): string => ("metadata" in ref ? ref.metadata.name : ref.name) ?? "";
  const client = {
    patch: async () => undefined,
    delete: (_: unknown, ref: ObjectRef) => end(nameOf(ref)),
    get: (_: unknown, ref: ObjectRef) => get(nameOf(ref)),
  } as unknown as Client;
  const events = { event: ({ metadata }: Pod) => said.push(`${metadata.name} was told`) } as never;
  const done = preempt(
    { client, events, clock, schedulerName: "s" },
    {
      preemptor: podOf("important"),
      node: "n",
      victims: ["a", "b"].map((name) => ({ key: podKey(podOf(name)), pod: podOf(name) })),
      signal: neverAborted,
      written: ({ pod }) => said.push(`${pod.metadata.name} is written`),
      spared: ({ pod }) => said.push(`${pod.metadata.name} is spared`),
    },
  );
  return { done, said, clock };
}

test("a victim whose end is under way is waited for, although another could not be ended", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { done, said, clock } = setUp((name) => (name === "a" ? Promise.reject(lost) : promise));
  let isDone = false;
  const seen = assert.rejects(done, lost).then(() => (isDone = true));
  await clock.settle();
  assert.deepEqual([isDone, said], [false, ["a is written"]]);

  resolve(undefined);
  await seen;

  assert.deepEqual(said, ["a is written", "b was told", "b is written"]);
});

test("a victim that the server did not let end is spared, and one that is gone is not", async () => {
  const refused = badRequest("a webhook said no");
  const { done, said } = setUp((name) => Promise.reject(name === "a" ? refused : notFound(Pod, "b")));

  await assert.rejects(done, refused);

  assert.deepEqual(said, ["a is spared", "b is written"]);
});

test("after a conflict, a victim goes on only if it is still there", async () => {
  const stale = staleObject(Pod, "a");
  const readings: Record<string, { answer: () => Pod; said: string; error?: Error }> = {
    "it is there": { answer: () => podOf("a"), said: "a is spared", error: stale },
    "it ends": { answer: () => ending(podOf("a")), said: "a is written" },
    "another one has its name": { answer: () => podOf("a", "next"), said: "a is written" },
    "it is gone": { answer: () => raise(notFound(Pod, "a")), said: "a is written" },
    "nobody knows": { answer: () => raise(lost), said: "a is written", error: lost },
  };
  for (const [what, { answer, said, error }] of Object.entries(readings)) {
    const { done, said: heard } = setUp(
      (name) => (name === "a" ? Promise.reject(stale) : Promise.resolve()),
      async () => answer(),
    );

    if (error) await assert.rejects(done, error, what);
    else await done;

    assert.deepEqual(heard.toSorted(), [said, "b is written", "b was told"].sort(), what);
  }
});
