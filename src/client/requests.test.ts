import assert from "node:assert/strict";
import { test } from "node:test";
import { Widget } from "#testing/widget.ts";
import { applyCall, createCall, deleteCall, getCall, listCall, patchCall, updateCall, watchCall } from "./requests.ts";

const base = "/apis/example.com/v1";
const signal = new AbortController().signal;
const object = { metadata: { namespace: "default", name: "a" } };
const cases = [
  { name: "get", call: getCall(Widget, object), line: `GET ${base}/namespaces/default/widgets/a?` },
  { name: "list everywhere", call: listCall(Widget, {}), line: `GET ${base}/widgets?` },
  {
    name: "list with selectors",
    call: listCall(Widget, { namespace: "x", labelSelector: "a in (b,c)", limit: 5, continue: "t+k" }),
    line: `GET ${base}/namespaces/x/widgets?labelSelector=a%20in%20(b%2Cc)&limit=5&continue=t%2Bk`,
  },
  {
    name: "watch",
    call: watchCall(Widget, { signal, resourceVersion: "7", bookmarks: true }),
    line: `GET ${base}/widgets?watch=true&allowWatchBookmarks=true&resourceVersion=7`,
  },
  {
    name: "watch with initial events",
    call: watchCall(Widget, { signal, sendInitialEvents: true }),
    line: `GET ${base}/widgets?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
  },
  {
    name: "create",
    call: createCall(Widget, object, { fieldManager: "me", dryRun: true }),
    line: `POST ${base}/namespaces/default/widgets?fieldManager=me&dryRun=All`,
  },
  {
    name: "update of a subresource",
    call: updateCall(Widget, object, { subresource: "status" }),
    line: `PUT ${base}/namespaces/default/widgets/a/status?`,
  },
  {
    name: "patch",
    call: patchCall(Widget, { ref: object, patch: { type: "strategic", body: {} }, options: undefined }),
    line: `PATCH ${base}/namespaces/default/widgets/a?`,
  },
  {
    name: "apply",
    call: applyCall(Widget, object, { fieldManager: "me", force: true }),
    line: `PATCH ${base}/namespaces/default/widgets/a?fieldManager=me&force=true`,
  },
  {
    name: "delete, with a name that needs escaping",
    call: deleteCall(Widget, { namespace: "default", name: "a/b:c" }, { gracePeriodSeconds: 0 }),
    line: `DELETE ${base}/namespaces/default/widgets/a%2Fb%3Ac?`,
  },
];
for (const { name, call, line } of cases) {
  test(`a ${name} has the right path and query`, () => {
    assert.equal(`${call.method} ${call.path}?${call.query}`, line);
  });
}

test("written objects get their kind", () => {
  assert.deepEqual(createCall(Widget, object).body, { ...object, kind: "Widget", apiVersion: "example.com/v1" });
});
