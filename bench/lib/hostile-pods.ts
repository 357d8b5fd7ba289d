import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type AttackTarget } from "../attacks/attack.ts";

const image = "orlop.dev/busybox:1";
export const floodPort = 9000;

/** A server that sends `start` to every client, and then `block` forever. */
export interface Flood {
  readonly name: string;
  readonly start: Uint8Array | string;
  readonly block: Uint8Array | string;
  /** Fields of the readiness probe, which runs every second. */
  readonly probe?: Readonly<Record<string, unknown>>;
}

/** Starts a pod for each flood, as the attacker, and waits until all are running. */
export async function startFloods(target: AttackTarget, floods: readonly Flood[]): Promise<void> {
  const path = `/api/v1/namespaces/${target.namespace}/pods`;
  for (const flood of floods) {
    const { status, text } = await target.ask({ path, body: podOf(flood) });
    if (status !== 201) throw new Error(`pod ${flood.name}: ${status} ${text}`);
  }
  for (let attempt = 0; attempt < 600; attempt++) {
    const { text } = await target.ask({ path });
    const { items } = JSON.parse(text) as { items: { status: { phase: string } }[] };
    if (items.every(({ status }) => status.phase === "Running")) return;
    await sleep(100);
  }
  throw new Error("the attacker's pods are not running");
}

/** Lets the kubelet probe until the signal, and resolves with a summary. Throws if a pod became ready. */
export async function awaitProbes(target: AttackTarget, signal: AbortSignal): Promise<string> {
  if (!signal.aborted) await once(signal, "abort");
  const base = `/api/v1/namespaces/${target.namespace}`;
  const pods = JSON.parse((await target.ask({ path: `${base}/pods` })).text) as PodList;
  const ready = pods.items.filter(({ status }) =>
    status.conditions.some((one) => one.type === "Ready" && one.status === "True"),
  );
  if (ready.length > 0) throw new Error(`${ready[0]?.metadata.name} is Ready`);
  const path = `${base}/events?fieldSelector=reason%3DUnhealthy`;
  const events = JSON.parse((await target.ask({ path })).text) as EventList;
  const failed = events.items.reduce((sum, { count = 1 }) => sum + count, 0);
  if (failed === 0) throw new Error("no probe ran");
  return `${failed} probes of ${pods.items.length} pods failed, as they should`;
}

interface PodList {
  items: { metadata: { name: string }; status: { conditions: { type: string; status: string }[] } }[];
}
interface EventList {
  items: { count?: number }[];
}

const script = (start: string, block: string): string => `
  printf '${start}' > /tmp/start
  printf '${block}' > /tmp/block
  for n in 1 2 3 4 5 6 7 8 9 10 11 12; do cat /tmp/block /tmp/block > /tmp/twice; mv /tmp/twice /tmp/block; done
  printf '#!/bin/sh\\ncat /tmp/start\\nwhile cat /tmp/block; do :; done 2>/dev/null\\n' > /tmp/flood
  chmod +x /tmp/flood
  exec nc -ll -p ${floodPort} -e /tmp/flood`;

function podOf({ name, start, block, probe }: Flood): object {
  const timing = { periodSeconds: 1, timeoutSeconds: 1 };
  const readinessProbe = probe ? { readinessProbe: { ...probe, ...timing } } : {};
  const command = ["sh", "-c", script(octal(start), octal(block))];
  const resources = { requests: { cpu: "10m" }, limits: { cpu: "300m", memory: "64Mi" } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      containers: [{ name: "main", image, command, resources, ...readinessProbe }],
      terminationGracePeriodSeconds: 0,
    },
  };
}

const octal = (bytes: Uint8Array | string): string =>
  [...Buffer.from(bytes)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
