import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { CommandError } from "#lib/process/processes.ts";
import { applyRules, type Host } from "./apply.ts";
import { RuleTable } from "./rule-table.ts";

const frame = {
  family: "ip",
  name: "t",
  sets: [{ name: "s", kind: "set", definition: "type ipv4_addr;" }],
  chains: [],
} as const;
const fragment = (key: string) => ({ chains: new Map(), sets: new Map(), elements: [{ set: "s", key, value: "" }] });

function hostThat(refuses: (text: string) => boolean): Host & { readonly sent: string[] } {
  const sent: string[] = [];
  return {
    sent,
    async run(_command, _args, input = "") {
      sent.push(input);
      if (refuses(input)) throw new CommandError("nft -f -", 1, "/dev/stdin:1:1-2: Error: No such file or directory");
      return "";
    },
    readSetting: async () => undefined,
    writeSetting: async () => {},
    eachLine: async () => {},
    addresses: async () => [],
  };
}

const bad = (key: string) => fragment(`bad-${key}`);

test("applyRules() sends the whole table if the kernel refuses a difference", async () => {
  const table = new RuleTable(frame);
  table.takeChanges();
  table.set("a", fragment("10.0.0.1"));
  const host = hostThat((text) => !text.startsWith("add table"));

  const { text, refused } = await applyRules(host, table, { log: silentLog });

  assert.match(text, /^add table ip t\ndelete table ip t\n/);
  assert.deepEqual(refused, []);
  assert.equal((await applyRules(host, table, { log: silentLog })).text, "");
});

test("applyRules() omits the fragments that the kernel refuses, and sends all others", async () => {
  const table = new RuleTable(frame);
  table.set("kept", fragment("10.0.0.1"));
  const host = hostThat((text) => text.includes("bad"));
  await applyRules(host, table, { log: silentLog });
  for (let last = 0; last < 100; last++) table.set(`owner-${last}`, fragment(`10.0.1.${last}`));
  table.set("owner-17", bad("a"));
  table.set("owner-64", bad("b"));
  host.sent.length = 0;

  const { text, refused } = await applyRules(host, table, { log: silentLog });

  assert.deepEqual(
    refused.map(({ owner }) => owner),
    ["owner-17", "owner-64"],
  );
  assert.match(refused[0]?.complaint ?? "", /No such file or directory/);
  assert.doesNotMatch(text, /delete table|bad|10\.0\.0\.1/, "the rules of others stay");
  assert.equal(text.match(/10\.0\.1\.\d+/g)?.length, 98);
  assert(host.sent.length < 40, `${host.sent.length} runs of nft`);
});

test("applyRules() replaces a refused fragment in the same transaction, unless that is refused as well", async () => {
  const table = new RuleTable(frame);
  const host = hostThat((text) => text.includes("bad"));
  table.set("mended", bad("a"));
  table.set("hopeless", bad("b"));
  const instead = (owner: string) => (owner === "mended" ? fragment("10.0.0.1") : bad("c"));

  const { text, error } = await applyRules(host, table, { log: silentLog, instead });

  assert.equal(error, undefined);
  assert.match(text, /add element ip t s \{ 10\.0\.0\.1 \}/);
  assert.doesNotMatch(text, /bad/);
});

test("applyRules() runs nft a limited number of times, whoever is to blame", async () => {
  const table = new RuleTable(frame);
  for (let last = 0; last < 1_000; last++) table.set(`owner-${last}`, bad(String(last)));
  const host = hostThat((text) => text.includes("bad"));

  const { refused, error } = await applyRules(host, table, { log: silentLog });

  assert.equal(refused.length, 1_000);
  assert.equal(error, undefined);
  assert(host.sent.length < 90, `${host.sent.length} runs of nft`);
});

test("applyRules() blames nobody if the kernel accepts nothing at all, and starts over next time", async () => {
  const table = new RuleTable(frame);
  table.set("a", fragment("10.0.0.1"));

  const { error, refused } = await applyRules(
    hostThat(() => true),
    table,
    { log: silentLog },
  );

  assert.match(String(error), /nft refused 5 lines: nft -f -: .*No such file or directory/);
  assert.deepEqual(refused, []);
  const host = hostThat(() => false);
  assert.match((await applyRules(host, table, { log: silentLog })).text, /add element ip t s \{ 10\.0\.0\.1 \}/);
});
