import assert from "node:assert/strict";
import { test } from "node:test";
import { type Context, type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { type Authorizer } from "./authorizer.ts";
import { authorize, decide } from "./chain.ts";

const info: RequestInfo = {
  ...blankRequestInfo,
  isResource: true,
  verb: "list",
  version: "v1",
  resource: "pods",
  namespace: "shop",
};
const user = { name: "jane", groups: [] };
const contextOf = (query: string): Context => ({
  request: {
    method: "GET",
    path: "",
    query,
    headers: {},
    body: undefined,
    signal: new AbortController().signal,
    peer: { address: "" },
  },
  info,
  query: new URLSearchParams(query),
  trace: { traceId: "", spanId: "" },
  user,
  warnings: [],
  annotations: new Map(),
  steps: { mark() {} },
});
const says = (verdict: "allow" | "deny" | "no opinion", reason = ""): Authorizer => ({
  name: verdict,
  authorize: () => ({ verdict, reason }),
});
const later = (authorizer: Authorizer): Authorizer => ({
  name: "later",
  authorize: async (...question) => authorizer.authorize(...question),
});
const done = { type: "value", status: 200, value: {} } as const;

test("decide() takes the first decision and joins the reasons of authorisers without one", async () => {
  const shy = says("no opinion", "a");

  assert.deepEqual(decide([shy, says("deny", "d"), says("allow")], user, info), { verdict: "deny", reason: "d" });
  assert.deepEqual(decide([shy, says("no opinion", "b")], user, info), { verdict: "no opinion", reason: "a\nb" });
  assert.deepEqual(await decide([later(shy), later(says("allow", "c"))], user, info), {
    verdict: "allow",
    reason: "c",
  });
});

test("authorize() passes an allowed request on and records why", async () => {
  const context = contextOf("");
  await authorize([says("allow", "because")])(context, () => done);

  assert.equal(context.annotations.get("authorization.k8s.io/decision"), "allow");
  assert.equal(context.annotations.get("authorization.k8s.io/reason"), "because");
});

test("authorize() refuses with all reasons, also asynchronously", async () => {
  const message =
    'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop": no such role';
  const shy = says("no opinion", "no such role");

  assert.throws(() => authorize([shy])(contextOf(""), () => done), { message, code: 403 });
  await assert.rejects(async () => authorize([later(shy)])(contextOf(""), () => done), { message });
});

test("a list that selects one name counts as a request for that object", async () => {
  const seen: RequestInfo[] = [];
  const recording: Authorizer = {
    name: "recording",
    authorize(_user, asked) {
      seen.push(asked);
      return { verdict: "allow", reason: "" };
    },
  };
  await authorize([recording])(contextOf("fieldSelector=metadata.name%3Dweb-0"), () => done);
  await authorize([recording])(contextOf("fieldSelector=rubbish"), () => done);

  assert.deepEqual(
    seen.map(({ name, fieldSelector }) => [name, fieldSelector]),
    [
      ["web-0", "metadata.name=web-0"],
      ["", undefined],
    ],
  );
});
