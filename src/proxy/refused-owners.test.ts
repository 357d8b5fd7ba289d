import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { silentLog } from "#lib/process/log.ts";
import { CommandError } from "#lib/process/processes.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Host } from "./apply.ts";
import { runProxy } from "./proxy.ts";
import { RefusedOwners } from "./refused-owners.ts";

test("refused rules are retried with growing delays until the kernel accepts them", () => {
  const refused = new RefusedOwners();
  const refusal = [{ owner: "a/b", complaint: "syntax error" }];
  assert.deepEqual(refused.note(refusal, 0), ["a/b"]);
  assert.equal(refused.complaintAbout("a/b"), "syntax error");

  assert.deepEqual(refused.takeDue(29_999), []);
  assert.deepEqual(refused.takeDue(30_000), ["a/b"]);
  refused.note(refusal, 30_000);
  assert.deepEqual(refused.takeDue(89_999), []);
  assert.deepEqual(refused.takeDue(90_000), ["a/b"]);

  assert.deepEqual(refused.note([], 90_000), ["a/b"], "the kernel accepts it");
  assert.equal(refused.complaintAbout("a/b"), undefined);
  assert.deepEqual(refused.note([], 90_001), []);
});

test("the addresses of a node are retried after the kernel refused them", async () => {
  const clock = createVirtualClock(0);
  const informers = createFakeInformers();
  const stop = new AbortController();
  const sent: string[] = [];
  let isRefusing = true;
  const host: Host = {
    async run(_command, args, input = "") {
      if (isRefusing && input.includes("192.0.2.7")) throw new CommandError("nft", 1, "Error: busy");
      if (args[0] === "-f") sent.push(input);
      return args[0] === "list" ? "table ip t" : "";
    },
    readSetting: async () => undefined,
    writeSetting: async () => {},
    eachLine: async () => {},
    addresses: async () => [],
  };
  const addresses = [{ type: "InternalIP", address: "192.0.2.7" }];
  informers.put(Node, { metadata: { name: "other" }, status: { addresses } });
  const ranges = { tableName: "t", podCidr: "10.1.0.0/24", clusterCidr: "10.1.0.0/16" };
  const running = runProxy({ nodeName: "one", informers, clock, log: silentLog, host, ...ranges }, stop.signal);
  await clock.advance(1000);
  assert.doesNotMatch(sent.join(""), /192\.0\.2\.7/);

  isRefusing = false;
  await clock.advance(120_000);

  assert.match(sent.join(""), /192\.0\.2\.7/);
  stop.abort();
  await running;
});
