import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { conflict } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { build } from "#testing/build.ts";
import { makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { writeClaim } from "./write-claim.ts";

const allocation = { devices: { results: [{ request: "r", driver: "d", pool: "p", device: "x" }] } };
const claimOf = (uid: string, status: object = {}): ResourceClaim =>
  build(ResourceClaim, { metadata: { name: "c", uid }, spec: { devices: {} }, status });

/** A server that accepts a new status, unless somebody has changed the claim to another one. */
function serverWith(other?: ResourceClaim) {
  const written: ResourceClaim[] = [];
  const update = async (_: unknown, claim: ResourceClaim) => {
    if (other && claim !== other) throw conflict(ResourceClaim, "c", "the object has been modified");
    return claim;
  };
  const updateStatus = async (_: unknown, claim: ResourceClaim) => {
    written.push(claim);
    return claim;
  };
  const client = { update, updateStatus, get: async () => other } as unknown as Client;
  return { written, deps: { client, clock: createVirtualClock() } };
}

test("writeClaim() gives no devices to another claim that has the name now", async () => {
  const { deps, written } = serverWith(claimOf("new"));

  const write = writeClaim(deps, { claim: claimOf("old"), pod: makePod("p"), allocation }, neverAborted);

  await assert.rejects(write, /claim default\/c got deleted in the meantime/);
  assert.deepEqual(written, []);
});

test("writeClaim() reserves a claim without changing what it has", async () => {
  const { deps, written } = serverWith();
  const claim = claimOf("one", { allocation });

  await writeClaim(deps, { claim, pod: makePod("p"), allocation: undefined }, neverAborted);

  assert.deepEqual(written[0]?.status.allocation, claim.status.allocation);
  assert.equal(written[0]?.status.reservedFor?.[0]?.name, "p");
});
