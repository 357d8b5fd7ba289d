import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type Context } from "#server/request/pipeline.ts";
import { parseRequestInfo } from "#server/request/request-info.ts";
import { type EstimateDeps, estimateWork } from "./estimate-work.ts";

function contextOf(method: string, url: string): Context {
  const { pathname: path, searchParams: query } = new URL(url, "https://server");
  const request = {
    method,
    path,
    query: "",
    headers: {},
    body: undefined,
    signal: neverAborted,
    peer: { address: "" },
  };
  const info = parseRequestInfo(method, path, query);
  const trace = { traceId: "", spanId: "" };
  return {
    request,
    info,
    query,
    trace,
    user: { name: "", groups: [] },
    warnings: [],
    annotations: new Map(),
    steps: { mark() {} },
  };
}

const deps = (objects: number, bytes: number, watchers = 0): EstimateDeps => ({
  find: (_group, _version, plural) => (plural === "pods" ? Pod : undefined),
  sizeOf: () => ({ objects, bytes }),
  watchersOf: () => watchers,
});

const seatCases = [
  { url: "/api/v1/pods/a", objects: 1000, bytes: 1e9, seats: 1 },
  { url: "/api/v1/pods", objects: 0, bytes: 0, seats: 1 },
  { url: "/api/v1/pods", objects: 100, bytes: 250_000, seats: 3 },
  { url: "/api/v1/pods", objects: 1000, bytes: 1e9, seats: 10 },
  { url: "/api/v1/pods?limit=10", objects: 100, bytes: 1_000_000, seats: 1 },
  { url: "/api/v1/pods?limit=30", objects: 100, bytes: 1_000_000, seats: 3 },
  { url: "/api/v1/pods?fieldSelector=metadata.name%3Da", objects: 100, bytes: 1_000_000, seats: 1 },
  { url: "/api/v1/pods?labelSelector=a%3Db", objects: 100, bytes: 1_000_000, seats: 10 },
  { url: "/api/v1/pods?limit=10&continue=x", objects: 100, bytes: 1_000_000, seats: 1 },
  { url: "/api/v1/pods?limit=10&continue=x&labelSelector=a%3Db", objects: 100, bytes: 1_000_000, seats: 5 },
  { url: "/api/v1/pods?continue=x", objects: 1000, bytes: 1e9, seats: 37 },
  { url: "/api/v1/pods?resourceVersionMatch=Nonsense", objects: 0, bytes: 0, seats: 37 },
  { url: "/api/v1/pods?watch=1", objects: 100, bytes: 250_000, seats: 3 },
  { url: "/api/v1/pods?watch=1&resourceVersion=0", objects: 100, bytes: 250_000, seats: 3 },
  { url: "/api/v1/pods?watch=1&resourceVersion=7", objects: 100, bytes: 250_000, seats: 1 },
  { url: "/api/v1/widgets", objects: 100, bytes: 1e9, seats: 1 },
  { url: "/version", objects: 100, bytes: 1e9, seats: 1 },
];
for (const { url, objects, bytes, seats } of seatCases) {
  test(`${url} takes ${seats} seats with ${objects} objects of ${bytes} bytes`, () => {
    assert.deepEqual(estimateWork(deps(objects, bytes), contextOf("GET", url), 37), {
      seats,
      finalSeats: 0,
      finalMs: 0,
    });
  });
}

const writes = [
  { watchers: 9, maxSeats: 10, finalSeats: 0, finalMs: 0 },
  { watchers: 10, maxSeats: 10, finalSeats: 1, finalMs: 5 },
  { watchers: 55, maxSeats: 10, finalSeats: 6, finalMs: 5 },
  { watchers: 200, maxSeats: 0, finalSeats: 10, finalMs: 10 },
  { watchers: 200, maxSeats: 4, finalSeats: 4, finalMs: 25 },
];
for (const { watchers, maxSeats, finalSeats, finalMs } of writes) {
  test(`a write with ${watchers} watchers takes ${finalSeats} seats for ${finalMs} ms after it, with at most ${maxSeats || "any"}`, () => {
    const work = estimateWork(deps(0, 0, watchers), contextOf("POST", "/api/v1/namespaces/a/pods"), maxSeats);

    assert.deepEqual(work, { seats: 1, finalSeats, finalMs });
  });
}
