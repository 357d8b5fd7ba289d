import assert from "node:assert/strict";
import { test } from "node:test";
import { type Webhook } from "#client/webhook/webhook.ts";
import { silentLog } from "#lib/process/log.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type AuthorizationWebhookDeps, authorizationWebhook } from "./webhook.ts";

const jane = { name: "jane", groups: ["dev"], uid: "7", extra: { scope: ["a"] } };
const list: RequestInfo = {
  ...blankRequestInfo,
  isResource: true,
  verb: "list",
  version: "v1",
  resource: "pods",
  namespace: "shop",
};

function setUp(answer: (spec: object) => object | Error, part: Partial<AuthorizationWebhookDeps> = {}) {
  const sent: { apiVersion: string; spec: Record<string, unknown> }[] = [];
  const webhook: Webhook = {
    async post(body) {
      const review = JSON.parse(Buffer.from(body).toString()) as (typeof sent)[number];
      sent.push(review);
      await new Promise(setImmediate);
      const status = answer(review.spec);
      if (status instanceof Error) throw status;
      return Buffer.from(JSON.stringify({ ...review, status }));
    },
    [Symbol.dispose]() {},
  };
  const clock = createVirtualClock();
  const ttls = { allowedTtlMs: 1000, refusedTtlMs: 100 };
  const fixed = { name: "remote", version: "v1", onFailure: "no opinion", clock, log: silentLog } as const;
  const { authorize } = authorizationWebhook({ webhook, ...ttls, ...fixed, ...part });
  return { sent, clock, ask: async (info: RequestInfo, user = jane) => await authorize(user, info) };
}

test("authorizationWebhook() asks about the user and the request, with its selectors", async () => {
  const { sent, ask } = setUp(() => ({ allowed: true, reason: "friend" }));

  const decision = await ask({ ...list, fieldSelector: "spec.nodeName=n1,a!=b", labelSelector: "app in (a,b),!old,x" });
  await ask({ ...blankRequestInfo, verb: "get", path: "/metrics" });

  assert.deepEqual(decision, { verdict: "allow", reason: "friend" });
  const who = { user: "jane", groups: ["dev"], extra: { scope: ["a"] }, uid: "7" };
  assert.deepEqual(sent[0]?.spec, {
    resourceAttributes: {
      namespace: "shop",
      verb: "list",
      version: "v1",
      resource: "pods",
      fieldSelector: {
        requirements: [
          { key: "a", operator: "NotIn", values: ["b"] },
          { key: "spec.nodeName", operator: "In", values: ["n1"] },
        ],
      },
      labelSelector: {
        requirements: [
          { key: "app", operator: "In", values: ["a", "b"] },
          { key: "old", operator: "DoesNotExist" },
          { key: "x", operator: "Exists" },
        ],
      },
    },
    ...who,
  });
  assert.deepEqual(sent[1]?.spec, { nonResourceAttributes: { path: "/metrics", verb: "get" }, ...who });
});

test("authorizationWebhook() writes the groups of v1beta1 under their old name", async () => {
  const { sent, ask } = setUp(() => ({ allowed: false }), { version: "v1beta1" });

  await ask(list);

  assert.equal(sent[0]?.apiVersion, "authorization.k8s.io/v1beta1");
  assert.deepEqual(sent[0]?.spec.group, ["dev"]);
  assert.equal(sent[0]?.spec.groups, undefined);
});

const verdicts: readonly (readonly [status: object, decision: object])[] = [
  [{ allowed: true }, { verdict: "allow", reason: "" }],
  [
    { allowed: false, reason: "no" },
    { verdict: "no opinion", reason: "no" },
  ],
  [
    { allowed: false, denied: true, reason: "never" },
    { verdict: "deny", reason: "never" },
  ],
  [
    { allowed: true, denied: true },
    {
      verdict: "deny",
      reason: "",
      error: "webhook subject access review returned both allow and deny response",
    },
  ],
];
for (const [status, decision] of verdicts) {
  test(`authorizationWebhook() understands ${JSON.stringify(status)}`, async () => {
    assert.deepEqual(await setUp(() => status).ask(list), decision);
  });
}

test("authorizationWebhook() remembers a permission longer than a refusal, for the same question only", async () => {
  const { sent, clock, ask } = setUp((spec) => ({ allowed: JSON.stringify(spec).includes("shop") }));
  const elsewhere = { ...list, namespace: "bank" };

  for (const info of [list, list, elsewhere, elsewhere]) await ask(info);
  assert.equal(sent.length, 2);
  await clock.advance(100);
  for (const info of [list, elsewhere]) await ask(info);
  assert.equal(sent.length, 3);
  assert.equal((await ask(list, { ...jane, name: "joe" })).verdict, "allow");
  assert.equal(sent.length, 4);
});

test("authorizationWebhook() that fails has no opinion or denies, as configured, and is asked again", async () => {
  const open = setUp(() => new Error("down"));
  const closed = setUp(() => ({ allowed: 1 }), { onFailure: "deny" });

  assert.deepEqual(await open.ask(list), { verdict: "no opinion", reason: "", error: "down" });
  assert.equal((await closed.ask(list)).verdict, "deny");
  await open.ask(list);
  assert.equal(open.sent.length, 2);
});
