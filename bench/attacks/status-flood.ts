import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";

const pods = ({ namespace }: AttackTarget): string => `/api/v1/namespaces/${namespace}/pods`;
const flood = "head -c 8000000 /dev/zero | tr '\\0' x";
const names = ["hook", "message", "log"];

const manifest = (name: string, container: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `flood-${name}` },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "orlop.dev/busybox:1", ...container }],
  },
});
const sh = (script: string): string[] => ["sh", "-c", script];

/** A hook, a termination message and a log with as much output as possible. */
const manifests = [
  manifest("hook", {
    command: ["sleep", "1000"],
    lifecycle: { postStart: { exec: { command: sh(`${flood}; ${flood} >&2; exit 1`) } } },
  }),
  manifest("message", { command: sh(`${flood} > /dev/termination-log; exit 1`) }),
  manifest("log", { command: sh(`${flood}; exit 1`), terminationMessagePolicy: "FallbackToLogsOnError" }),
];
const maxBytes = 64 << 10;

async function sizeOf(target: AttackTarget, name: string): Promise<number> {
  const { text } = await target.ask({ path: `${pods(target)}/flood-${name}` });
  return Buffer.byteLength(text);
}

export const attack: Attack = {
  name: "status flood",
  claim: "no pod grows beyond upstream's limits, whatever its containers print",
  needs: "node",
  async prepare(target) {
    for (const body of manifests) await target.ask({ method: "POST", path: pods(target), body });
  },
  async run(target, signal) {
    let largest = 0;
    while (!signal.aborted) {
      for (const name of names) largest = Math.max(largest, await sizeOf(target, name));
      if (largest > maxBytes) throw new Error(`a pod has ${largest} bytes`);
      await pause(250);
    }
    return `8 MB each from hooks, messages and logs; the largest pod has ${largest} bytes`;
  },
  async cleanUp(target) {
    for (const name of names) await target.ask({ method: "DELETE", path: `${pods(target)}/flood-${name}` });
  },
};
