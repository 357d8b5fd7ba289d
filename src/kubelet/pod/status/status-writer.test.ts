import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "#api/core/pod/pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { Pod as PodResource } from "#api/core/pod.ts";
import { forbidden, invalid } from "#api/status.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { StatusWriter } from "./status-writer.ts";

const aPod = (message: string): Pod =>
  ({ metadata: { name: "web", namespace: "shop", uid: "u" }, status: { message } }) as unknown as Pod;

/** Lets this many promises settle. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.resolve();
}

test("a change is written, at whatever moment of a write it comes", async () => {
  for (let moment = 0; moment < 12; moment++) {
    let wanted = "first";
    let stored = aPod("");
    const writer = new StatusWriter({
      objects: {
        read: () => Promise.resolve(stored),
        remove: () => Promise.resolve(),
        writeStatus: (_pod, status) => Promise.resolve(aPod((status as { message: string }).message)),
      },
      clock: systemClock,
      log: silentLog,
      pod: () => stored,
      render: () => ({ message: wanted }) as PodStatus,
      seen: (pod) => (stored = pod),
      refused: () => {},
      trace: () => undefined,
    });
    writer.update();
    await turns(moment);

    wanted = "second";
    writer.update();
    await turns(30);

    assert.equal(stored.status.message, "second", `it came after ${moment} turns`);
  }
});

test("a refused status is reported once, and sent again only when it has changed", async () => {
  const told: string[] = [];
  let [wanted, writes] = ["first", 0];
  const writer = new StatusWriter({
    objects: {
      read: () => Promise.resolve(aPod("")),
      remove: () => Promise.resolve(),
      writeStatus: () => {
        writes++;
        return Promise.reject(invalid(PodResource, "web", []));
      },
    },
    clock: systemClock,
    log: silentLog,
    pod: () => aPod(""),
    render: () => ({ message: wanted }) as PodStatus,
    seen: () => {},
    refused: (message) => told.push(message),
    trace: () => undefined,
  });

  await writer.flush();
  await writer.flush();
  const same = writes;
  wanted = "second";
  await writer.flush();

  assert.deepEqual([same, writes, told.length], [1, 2, 1]);
});

test("nobody waits for a status that is forbidden to write", async () => {
  const writer = new StatusWriter({
    objects: {
      read: () => Promise.resolve(aPod("")),
      remove: () => Promise.resolve(),
      writeStatus: () => Promise.reject(forbidden(PodResource, "web", "not yours")),
    },
    clock: systemClock,
    log: silentLog,
    pod: () => aPod(""),
    render: () => ({ message: "first" }) as PodStatus,
    seen: () => {},
    refused: () => {},
    trace: () => undefined,
  });

  await writer.flush();

  writer.close();
});
