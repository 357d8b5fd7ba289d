import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/log.ts";
import { CommandError } from "#lib/processes.ts";
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
  };
}

test("applyRules() sends the whole table where the kernel refuses a difference", async () => {
  const table = new RuleTable(frame);
  table.takeChanges();
  table.set("a", fragment("10.0.0.1"));
  const host = hostThat((text) => !text.startsWith("add table"));

  const text = await applyRules(host, table, silentLog);

  assert.equal(host.sent.length, 2);
  assert.match(text, /^add table ip t\ndelete table ip t\n/);
  assert.equal(await applyRules(host, table, silentLog), "");
});

test("applyRules() says what nft said, and starts over the next time", async () => {
  const table = new RuleTable(frame);
  table.set("a", fragment("10.0.0.1"));

  await assert.rejects(
    applyRules(
      hostThat(() => true),
      table,
      silentLog,
    ),
    /nft refused 5 lines: nft -f -: .*No such file or directory/,
  );
  assert.match(
    await applyRules(
      hostThat(() => false),
      table,
      silentLog,
    ),
    /add element ip t s \{ 10\.0\.0\.1 \}/,
  );
});
