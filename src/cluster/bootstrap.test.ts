import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "#api/status.ts";
import { persistently } from "./bootstrap.ts";

/** A clock on which only sleeping takes time. */
function sleepingClock() {
  let now = 0;
  return {
    now: () => now,
    async sleep(ms: number): Promise<void> {
      now += ms;
    },
  };
}
const log = { warn() {} };

test("a start goes on when the store answers again", async () => {
  const faults = [
    new StatusError("Timeout", "etcd did not confirm the request: read ECONNRESET"),
    new StatusError("ServiceUnavailable", "etcd does not answer: no leader"),
  ];
  let tries = 0;
  await persistently(
    sleepingClock(),
    log,
  )(async () => {
    tries++;
    const fault = faults.shift();
    if (fault) throw fault;
  });
  assert.equal(tries, 3);
});

test("a start ends with the store's error when it does not answer for half a minute", async () => {
  const clock = sleepingClock();
  const away = new StatusError("ServiceUnavailable", "etcd does not answer: no leader");
  await assert.rejects(
    persistently(clock, log)(() => Promise.reject(away)),
    away,
  );
  assert.equal(clock.now(), 30_000);
});

test("a start ends at once when a write is refused", async () => {
  const clock = sleepingClock();
  const refused = new StatusError("Forbidden", "no");
  await assert.rejects(
    persistently(clock, log)(() => Promise.reject(refused)),
    refused,
  );
  assert.equal(clock.now(), 0);
});
