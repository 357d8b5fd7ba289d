import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { notFound, serviceUnavailable } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { readPod } from "./read-pod.ts";

const pod = makePod("web");
const unavailable = () => serviceUnavailable("not now");

/** The answers of the server, in order. The last one is repeated. */
async function read(answers: readonly (() => Pod | Error)[], metadata = pod.metadata) {
  let asked = 0;
  const get = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]?.();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const clock = createVirtualClock();
  const reading = readPod({ client: { get } as unknown as Client, clock }, metadata, neverAborted);
  await clock.advance(60_000);
  return { found: await reading, asked };
}

test("a pod is read again until the server answers", async () => {
  assert.deepEqual(await read([unavailable, unavailable, () => pod]), { found: pod, asked: 3 });
});

test("a pod that is gone or another one is not found", async () => {
  assert.equal((await read([() => notFound(Pod, "web")])).found, undefined);
  assert.equal((await read([() => pod], { ...pod.metadata, uid: "another" })).found, undefined);
});

test("a server that never answers is not asked for ever", async () => {
  assert.deepEqual(await read([unavailable]), { found: undefined, asked: 10 });
});
