import assert from "node:assert/strict";
import { test } from "node:test";
import { type Context } from "#server/request/pipeline.ts";
import { parseRequestInfo } from "#server/request/request-info.ts";
import { WatchCounts } from "./watch-counts.ts";

const asking = (method: string, url: string): Context => {
  const { pathname, searchParams: query } = new URL(url, "https://server");
  return { info: parseRequestInfo(method, pathname, query), query } as Context;
};

test("a write counts the watches of its kind, its namespace and its object, until they end", () => {
  const counts = new WatchCounts();
  const interested = (url: string) => counts.interestedIn(asking("PUT", url).info);
  const ends = [
    "/api/v1/pods?watch=1",
    "/api/v1/namespaces/a/pods?watch=1",
    "/api/v1/namespaces/a/pods?watch=1&fieldSelector=metadata.name%3Dx",
    "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn",
    "/apis/metrics.k8s.io/v1/pods?watch=1",
    "/api/v1/nodes?watch=1",
  ].map((url) => counts.add(asking("GET", url)));

  const table = () => ["a/pods/x", "a/pods/y", "b/pods/x"].map((path) => interested(`/api/v1/namespaces/${path}`));
  assert.deepEqual(table(), [3, 2, 1]);
  assert.equal(interested("/api/v1/nodes/a"), 1);
  assert.equal(interested("/apis/metrics.k8s.io/v1/namespaces/a/pods/x"), 1);
  assert.equal(interested("/api/v1/namespaces/a/secrets/x"), 0);

  for (const end of ends) {
    end();
    end();
  }
  assert.deepEqual(table(), [0, 0, 0]);
  assert.equal(interested("/api/v1/nodes/a"), 0);
});
