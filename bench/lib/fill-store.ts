import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { type Store } from "#store/store.ts";
import { podSpec } from "./objects.ts";

/** Writes this many keys, many of them concurrently. */
export async function fill(store: Store, objects: number, value: (n: number) => Uint8Array): Promise<void> {
  for (let n = 0; n < objects; ) {
    const batch: Promise<unknown>[] = [];
    for (let k = 0; k < 1000 && n < objects; k++, n++) {
      batch.push(store.commit([{ key: keyOf(n), value: value(n) }]));
    }
    await Promise.all(batch);
  }
}

export const keyOf = (n: number): string => `/registry/pods/ns-${n % 100}/pod-${n}`;

/** Creates a data directory with this many pods of 2.4 kB, as a server would have left it. */
export async function fillDataDir(dataDir: string, objects: number): Promise<void> {
  await using store = await openSqliteStore(dataDir, { clock: systemClock, log: silentLog });
  await fill(store, objects, (n) => Buffer.from(podText(n)));
}

/** Pods that nobody schedules or removes. */
function podText(n: number): string {
  const names = {
    name: `pod-${n}`,
    namespace: `ns-${n % 100}`,
    uid: `00000000-0000-4000-8000-${`${n}`.padStart(12, "0")}`,
  };
  const annotations = { text: "0123456789".repeat(180) };
  const metadata = { resourceVersion: "1", ...names, creationTimestamp: "2026-01-01T00:00:00Z", annotations };
  const policies = { restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "nobody" };
  const spec = { ...podSpec(policies), securityContext: {}, enableServiceLinks: true };
  const status = { phase: "Pending", qosClass: "Burstable" };
  return JSON.stringify({ kind: "Pod", apiVersion: "v1", metadata, spec, status });
}
