import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/pod.ts";
import { timestamp } from "#lib/async/clock.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { renewTokens, ServiceAccountTokens } from "./service-account-tokens.ts";

const pod = { metadata: { name: "p", namespace: "n", uid: "u" }, spec: { serviceAccountName: "sa" } } as unknown as Pod;
const projection = { path: "token", audience: "x", expirationSeconds: 1000 };

function setUp() {
  const clock = createVirtualClock();
  const asked: unknown[] = [];
  let isAway = false;
  const client = {
    async createSubresource<B extends object>(_resource: unknown, ref: unknown, name: string, body: B): Promise<B> {
      if (isAway) throw new Error("away");
      asked.push([ref, name]);
      const status = { token: `t${asked.length}`, expirationTimestamp: timestamp(clock.now() + 1_000_000) };
      return { ...body, status };
    },
  };
  const tokens = new ServiceAccountTokens({ client, clock, random: () => 0 });
  return { clock, asked, tokens, goAway: () => (isAway = true) };
}

test("a token is requested once, and again when a fifth of its life is left", async () => {
  const { clock, asked, tokens } = setUp();

  assert.equal(await tokens.get(pod, projection), "t1");
  await clock.advance(799_000);
  assert.equal(await tokens.get(pod, projection), "t1");
  await clock.advance(1_000);
  assert.equal(await tokens.get(pod, projection), "t2");
  assert.deepEqual(asked[0], [{ namespace: "n", name: "sa" }, "token"]);

  tokens.forgetPod("u");
  assert.equal(await tokens.get(pod, projection), "t3");
});

test("a token that cannot be renewed is used while it is valid", async () => {
  const { clock, tokens, goAway } = setUp();
  await tokens.get(pod, projection);
  goAway();

  await clock.advance(900_000);
  assert.equal(await tokens.get(pod, projection), "t1");
  await clock.advance(100_000);
  await assert.rejects(tokens.get(pod, projection), /away/);
});

test("renewTokens() names a pod every minute for as long as one of its tokens must be renewed", async () => {
  const { clock, tokens } = setUp();
  const stop = new AbortController();
  const outdated: string[] = [];
  const ended = renewTokens({ clock, tokens, outdated: (uid) => outdated.push(uid) }, stop.signal).catch(() => {});
  await tokens.get(pod, projection);

  await clock.advance(790_000);
  assert.deepEqual(outdated, []);
  await clock.advance(120_000);
  assert.deepEqual(outdated, ["u", "u"]);
  await tokens.get(pod, projection);
  await clock.advance(120_000);
  assert.equal(outdated.length, 2);

  stop.abort();
  await ended;
});
