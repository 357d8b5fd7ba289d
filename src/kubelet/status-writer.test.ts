import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/pod.ts";
import type { PodStatus } from "#api/core/pod-status.ts";
import { systemClock } from "#lib/clock.ts";
import { silentLog } from "#lib/log.ts";
import { StatusWriter } from "./status-writer.ts";

const aPod = (message: string): Pod =>
  ({ metadata: { name: "web", namespace: "shop", uid: "u" }, status: { message } }) as unknown as Pod;

/** Lets so many promises go on. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.resolve();
}

test("a change is written, in whatever moment of a write it comes", async () => {
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
