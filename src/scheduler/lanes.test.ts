import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { type Client } from "#client/client.ts";
import { silentLog } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { testProfile } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { createLanes, followAll } from "./lanes.ts";
import { Nominations } from "./preemption/nominations.ts";
import { Snapshot } from "./snapshot.ts";

/** Notes the kinds that somebody follows. */
function noting(informers: Informers, followed: string[]): Informers {
  const of: Informers["of"] = (resource, scope) => {
    const informer = informers.of(resource, scope);
    return {
      ...informer,
      list: (namespace) => informer.list(namespace),
      subscribe(listener) {
        followed.push(resource.kind);
        return informer.subscribe(listener);
      },
    };
  };
  return { ...informers, of };
}

test("the pods are followed once for the preemptions of all profiles", () => {
  const followed: string[] = [];
  const informers = noting(createFakeInformers(), followed);
  const lanes = createLanes(
    ["one", "two"].map((schedulerName) => ({ ...testProfile(), plugins: [], schedulerName })),
    {
      client: {} as Client,
      informers,
      clock: createVirtualClock(),
      log: silentLog,
      random: () => 0,
      snapshot: new Snapshot(),
      nominations: new Nominations(),
      eventsOf: () => ({ event: () => undefined }) as never,
    },
  );

  followAll(lanes, { informers, log: silentLog, changed: () => undefined, reconsider: () => undefined })();

  assert.deepEqual(followed, [Pod.kind]);
});
