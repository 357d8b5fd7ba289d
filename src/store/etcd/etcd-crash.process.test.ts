/** Kills a writing process and etcd's members repeatedly; this file is also the process that is killed. */
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { type EtcdCluster, startEtcd } from "#testing/peers/etcd.ts";
import { killRepeatedly, writeForEver } from "../crash.suite.ts";
import { type Store } from "../store.ts";
import { EtcdError, openEtcdStore } from "./etcd-store.ts";

const [, , role, endpoints = "", round = ""] = process.argv;
const open = (all: readonly string[]) =>
  openEtcdStore({ endpoints: all, clock: systemClock, log: silentLog, keys: { ours: "", theirs: "/crash" } });

/** The members may be away when the process starts. */
async function insistOnOpening(): Promise<Store> {
  for (;;) {
    try {
      return await open(endpoints.split(","));
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
    }
  }
}

if (role === "write") await writeForEver(await insistOnOpening(), round);
else {
  for (const members of [1, 3]) {
    test(`kill -9 of the writer and of ${members} member(s) loses no acknowledged commit and leaves no partial one`, async () => {
      await using etcd = await startEtcd({ members });
      await killRepeatedly({
        rounds: 3,
        writer: (n) => [import.meta.filename, "write", etcd.endpoints.join(","), String(n)],
        open: () => open(etcd.endpoints),
        disturb: (random, over) => killMembers(etcd, random, over),
      });
    });
  }
}

/** Kills a random member at a random moment, and starts it again. */
async function killMembers(etcd: EtcdCluster, random: () => number, over: AbortSignal): Promise<void> {
  const pause = (ms: number) => systemClock.sleep(ms, over).catch(() => undefined);
  while (!over.aborted) {
    await pause(1000 + 1000 * random());
    const member = Math.floor(random() * etcd.size);
    await etcd.kill(member);
    await pause(300 * random());
    etcd.start(member);
    await etcd.ready();
  }
}
