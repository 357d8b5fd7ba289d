import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "#api/status.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Deadlines } from "./deadlines.ts";
import { parseRequestInfo } from "./request-info.ts";

const asked = (url: string, method = "GET") => {
  const { pathname, searchParams: query } = new URL(url, "https://server");
  return { info: parseRequestInfo(method, pathname, query), query };
};

const cases = [
  { url: "/api/v1/pods", ms: 60_000 },
  { url: "/api/v1/pods?timeout=5s", ms: 5000 },
  { url: "/api/v1/pods?timeout=2h", ms: 60_000 },
  { url: "/api/v1/pods?timeout=0s", ms: 60_000 },
  { url: "/api/v1/pods?timeout=-3s", ms: 60_000 },
  { url: "/api/v1/pods?watch=1", ms: undefined },
  { url: "/api/v1/namespaces/a/pods/b/log?follow=1", ms: undefined },
  { url: "/api/v1/namespaces/a/pods/b/proxy/x?timeout=nonsense", ms: undefined },
];
for (const { url, ms } of cases) {
  test(`${url} may take ${ms === undefined ? "as long as it lasts" : `${ms} ms`}`, () => {
    assert.equal(new Deadlines(createVirtualClock(), 60_000).timeoutOf(asked(url)), ms);
  });
}

test("a timeout that is no duration is a bad request", () => {
  const deadlines = new Deadlines(createVirtualClock(), 60_000);

  assert.throws(() => deadlines.timeoutOf(asked("/api/v1/pods?timeout=soon")), {
    code: 400,
    message: 'invalid timeout specified in the request URL - time: invalid duration "soon"',
  });
});

test("each request ends at its own deadline, and is told to stop", async () => {
  const clock = createVirtualClock();
  const deadlines = new Deadlines(clock, 1000);
  const ends: [name: string, atMs: number, code: unknown][] = [];
  const begin = clock.now();
  const run = (name: string, ms: number) => {
    let isStopped = false;
    const work = new Promise<never>(() => {});
    deadlines
      .within(ms, work, () => {
        isStopped = true;
      })
      .catch((error: unknown) => {
        ends.push([name, clock.now() - begin, isStopped && error instanceof StatusError && error.code]);
      });
  };

  run("first", 1000);
  await clock.advance(400);
  run("second", 1000);
  run("hurried", 100);
  await clock.advance(5000);

  assert.deepEqual(ends, [
    ["hurried", 500, 504],
    ["first", 1000, 504],
    ["second", 1400, 504],
  ]);
  assert.equal(clock.pending, 0);
});

test("a request that is done leaves no timer", async () => {
  const clock = createVirtualClock();
  const deadlines = new Deadlines(clock, 1000);

  assert.equal(await deadlines.within(1000, Promise.resolve("done"), assert.fail), "done");
  await assert.rejects(deadlines.within(10, Promise.reject(new Error("broken")), assert.fail), /broken/);

  assert.equal(clock.pending, 0);
});
