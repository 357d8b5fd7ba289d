import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type WatchResponse } from "./calls.ts";
import { type EtcdClient } from "./etcd-client.ts";
import { follow } from "./follow.ts";
import { Keys } from "./keys.ts";

const compacted = (compactRevision: number): WatchResponse => ({
  header: undefined,
  created: false,
  canceled: true,
  compactRevision,
  cancelReason: "",
  fragment: false,
  events: [],
});

/** Follows an etcd that has compacted its history to 9 before the first stream starts. Returns what was asked of it. */
async function followCompacted(positions: { readonly atFirst: number; readonly later: number }) {
  const clock = createVirtualClock();
  const ended = new AbortController();
  let position = positions.atFirst;
  const watchedFrom: number[] = [];
  let startedOver = 0;
  const watch = async function* (from: number): AsyncGenerator<WatchResponse> {
    watchedFrom.push(from);
    if (watchedFrom.length > 1) return ended.abort();
    position = positions.later;
    yield compacted(9);
  };
  const following = follow(
    {
      client: { watch } as Partial<EtcdClient> as EtcdClient,
      keys: new Keys({ ours: "", theirs: "/test" }),
      clock,
      log: silentLog,
      position: () => position,
      check: async () => {},
      changes: () => {},
      isFollowing: () => {},
      startOver: async () => {
        startedOver++;
        position = 12;
      },
    },
    ended.signal,
  );
  await clock.runUntil(() => watchedFrom.length > 1, 10_000);
  await following;
  return { watchedFrom, startedOver };
}

test("history that was compacted beyond our position is loaded anew", async () => {
  assert.deepEqual(await followCompacted({ atFirst: 3, later: 3 }), { watchedFrom: [4, 13], startedOver: 1 });
});

test("a stream whose start was compacted goes on where our own writes have brought us meanwhile", async () => {
  assert.deepEqual(await followCompacted({ atFirst: 3, later: 8 }), { watchedFrom: [4, 9], startedOver: 0 });
});
