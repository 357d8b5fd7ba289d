import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { build } from "#testing/build.ts";
import { claimPorts } from "./claim-ports.ts";
import { Claims, type Pool } from "./claims.ts";
import { findFree } from "./find-free.ts";
import { type Key } from "./held.ts";

const many = build(Service, {
  metadata: { name: "many", namespace: "default" },
  spec: { type: "NodePort", ports: Array.from({ length: 1000 }, (_, n) => ({ name: `p${n}`, port: n + 1 })) },
});

test("a service with many ports costs no more than the range when that is full", () => {
  let looked = 0;
  class Full extends Map<Key, number> {
    override has(): boolean {
      looked++;
      return true;
    }
  }
  const nodePorts = { min: 30_000, max: 30_099 };
  const pool = { held: new Full(), underway: new Set(), nodePorts, random: () => 0.5 } as Partial<Pool> as Pool;

  const claim = () => [...claimPorts(pool, structuredClone(many), new Claims(pool, undefined))];

  assert.throws(claim, /failed to allocate a nodePort: range is full/);
  assert.equal(looked, 100);
});

test("findFree tries every value once, however many are wanted", () => {
  const tried: number[] = [];
  const found = findFree(
    { min: 1, max: 50, low: 10 },
    () => 0.5,
    (at) => {
      tried.push(at);
      return at % 2 === 0;
    },
  );

  assert.equal([...found].length, 25);
  assert.deepEqual(
    tried.toSorted((a, b) => a - b),
    Array.from({ length: 50 }, (_, n) => n + 1),
  );
  assert.ok(
    tried.slice(0, 40).every((at) => at > 10),
    "the lower part comes last",
  );
});
