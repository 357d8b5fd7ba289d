import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { noRemoteKinds } from "#runtime/kinds.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type GarbageCollectorDeps, runGarbageCollector } from "./garbage-collector.ts";

test("the collector ends with the error of a task that fails, instead of waiting for its queue", async () => {
  let isBroken = false;
  let changed = (): void => undefined;
  const kinds = {
    all: () => {
      if (isBroken) throw new Error("broken");
      return [];
    },
    subscribe: (handler: () => void) => {
      changed = handler;
      return () => undefined;
    },
  };
  const clock = createVirtualClock();
  const deps = {
    kinds,
    remoteKinds: noRemoteKinds,
    clock,
    log: silentLog,
    client: {},
  } as unknown as GarbageCollectorDeps;
  const running = runGarbageCollector(deps, new AbortController().signal);
  await new Promise((resolve) => setImmediate(resolve));

  isBroken = true;
  changed();

  await assert.rejects(running, /broken/);
});
