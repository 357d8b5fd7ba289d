import assert from "node:assert/strict";
import { test } from "node:test";
import { type Webhook, WebhookError } from "#client/webhook/webhook.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type TokenWebhookDeps, tokenWebhook } from "./token-webhook.ts";

const own = ["https://api"];

/** A webhook that answers with this status, or fails. */
function setUp(answer: (token: string) => object | Error, part: Partial<TokenWebhookDeps> = {}) {
  const sent: { apiVersion: string; spec: { token: string; audiences: string[] } }[] = [];
  const webhook: Webhook = {
    async post(body) {
      const review = JSON.parse(Buffer.from(body).toString()) as (typeof sent)[number];
      sent.push(review);
      await new Promise(setImmediate);
      const status = answer(review.spec.token);
      if (status instanceof Error) throw status;
      return Buffer.from(JSON.stringify({ ...review, status }));
    },
    [Symbol.dispose]() {},
  };
  const clock = createVirtualClock();
  const deps = { webhook, version: "v1", ttlMs: 1000, audiences: own, clock, log: silentLog, ...part } as const;
  const tokens = tokenWebhook(deps);
  const ask = async (token: string, audiences?: string[], address?: string) =>
    await tokens.authenticateToken(token, audiences, address);
  return { sent, clock, ask };
}
const jane = { username: "jane", uid: "7", groups: ["dev"], extra: { scope: ["a", "b"] } };

test("tokenWebhook() takes the identity from the answer, and asks once while it holds", async () => {
  const { sent, clock, ask } = setUp(() => ({ authenticated: true, user: jane }));

  const first = await ask("t");
  const second = await ask("t");
  await clock.advance(1000);
  await ask("t");

  assert.deepEqual(first, {
    user: { name: "jane", uid: "7", groups: ["dev"], extra: { scope: ["a", "b"] } },
    audiences: own,
  });
  assert.equal(first, second, "the same object, by which later stages remember it");
  assert.equal(sent.length, 2);
  assert.equal(sent[0]?.apiVersion, "authentication.k8s.io/v1");
  assert.deepEqual(sent[0]?.spec, { token: "t", audiences: own });
});

test("tokenWebhook() keeps tokens and audiences apart", async () => {
  const { sent, ask } = setUp((token) => ({
    authenticated: token === "good",
    user: jane,
    audiences: ["https://api", "vault"],
  }));

  assert.ok(await ask("good"));
  assert.deepEqual((await ask("good", ["vault", "x"]))?.audiences, ["vault"]);
  assert.equal(await ask("good", ["x"]), undefined);
  assert.equal(await ask("bad"), undefined);
  assert.equal(await ask("bad"), undefined);
  assert.equal(sent.length, 4, "a refusal is remembered too");
});

test("tokenWebhook() accepts nothing without a proper answer, and remembers no failure", async () => {
  const answers: (object | Error)[] = [
    new WebhookError("down", undefined),
    { authenticated: "yes" },
    { authenticated: true, user: {} },
    { authenticated: false, error: "expired" },
  ];
  const { sent, ask } = setUp(() => answers.shift() ?? {});

  for (const _ of [1, 2]) await assert.rejects(ask("t"), { code: 401, message: "Unauthorized" });
  await assert.rejects(ask("t"), { code: 401 });
  await assert.rejects(ask("u"), (error: Error) => (error.cause as Error).message === "expired");
  assert.equal(sent.length, 4);
  await assert.rejects(ask("x".repeat(20_000)), { code: 401 });
  assert.equal(sent.length, 4, "a token that is too long is not passed on");
});

test("a flood of unknown tokens waits within limits, and another address gets its turn", async () => {
  const { sent, ask } = setUp(() => ({ authenticated: false }));

  const flood = Array.from({ length: 2000 }, (_, index) => ask(`${index}`, undefined, "10.0.0.1"));
  const same = Array.from({ length: 100 }, () => ask("same", undefined, "10.0.0.2"));
  const results = await Promise.allSettled(flood);
  await Promise.all(same);

  const refused = results.filter((result) => result.status === "rejected");
  assert.equal(refused.length, 2000 - 64 - 256);
  assert.ok(refused.every((result) => (result as { reason: { code: number } }).reason.code === 429));
  assert.equal(sent.filter(({ spec }) => spec.token === "same").length, 1, "asked once for all");
});
