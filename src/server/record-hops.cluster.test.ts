import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "#testing/peers/ask.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { anonymousUser } from "./authenticate/anonymous.ts";

test("a refused write of an anonymous user leaves no hop", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server, recorder } = cluster.api;
  const before = [...recorder.all()].length;

  for (let at = 0; at < 20; at++) {
    const said = await ask(server, `POST /api/v1/namespaces/junk-${at}/pods`, { user: anonymousUser, body: {} });
    assert.equal(said.status, 403);
  }

  assert.equal([...recorder.all()].length, before);
});

test("a hop keeps only a bounded part of a client's text", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server, recorder } = cluster.api;
  const long = "x".repeat(2000);
  const user = { name: `jane${long}`, groups: ["system:authenticated"] };
  const headers = { "user-agent": long };

  await ask(server, `DELETE /api/v1/namespaces/${long}/pods/${long}/${long}`, { user, headers });
  await ask(server, `PATCH /apis/${long}/v1/namespaces/a/${long}/b`, { user, headers, body: {} });

  const hops = [...recorder.all()].filter(({ facts }) => String(facts?.user).startsWith("jane"));
  assert.equal(hops.length, 2);
  for (const hop of hops) assert(JSON.stringify(hop).length < 3000, JSON.stringify(hop));
});

test("facts of different requests are never confused", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server, recorder } = cluster.api;
  const groups = ["system:masters"];
  const write = (name: string, user: string, client: string) =>
    ask(server, "POST /api/v1/namespaces/default/configmaps", {
      user: { name: user, groups },
      headers: { "user-agent": client },
      body: { metadata: { name } },
    });

  await write("a", "jane", "admin curl");
  await write("b", "jane admin", "curl");

  const hopOf = (name: string) =>
    recorder.byObject({ resource: "configmaps", namespace: "default", name }).at(-1)?.facts;
  assert.equal(hopOf("a")?.user, "jane");
  assert.equal(hopOf("b")?.user, "jane admin");
});
