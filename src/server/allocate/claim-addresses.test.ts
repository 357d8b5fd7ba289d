import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { parseIpRange } from "#api/networking/ip-range.ts";
import { build } from "#testing/build.ts";
import { claimAddresses } from "./claim-addresses.ts";
import { Claims, type Pool } from "./claims.ts";
import { type Key } from "./held.ts";

const range = parseIpRange("10.96.0.0/16");
const service = () => build(Service, { metadata: { name: "a", namespace: "default" }, spec: { ipFamilies: ["IPv4"] } });

/** Every address is taken; `looked` counts how many were asked for, and time passes with each. */
function fullPool() {
  let looked = 0;
  class Full extends Map<Key, number> {
    override has(): boolean {
      looked++;
      const until = performance.now() + 0.001;
      while (performance.now() < until);
      return true;
    }
  }
  const ranges = { families: ["IPv4"], of: () => (range ? [range] : []) };
  const pool = { held: new Full(), underway: new Set(), ranges, random: () => 0.5 } as Partial<Pool> as Pool;
  return { pool, looked: () => looked };
}

test("a search of a full range tries each address once and lets other work run meanwhile", async () => {
  const { pool, looked } = fullPool();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);

  const search = Array.fromAsync(claimAddresses(pool, service(), new Claims(pool, undefined)));

  await assert.rejects(search, /failed to allocate a serviceIP for Service "a": range is full/);
  isOver = true;
  assert.equal(looked(), 65_534);
  assert.ok(turns > 5, `${turns} turns of the event loop`);
});
