import { createPod, deletePod, podWhen, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** Pods that write more than their volumes and containers may hold, one after another. */
export const attack: Attack = {
  name: "more on the disk than is allowed",
  claim: "evicted",
  needs: "node",

  async run(target, signal) {
    const limits = { "ephemeral-storage": "20Mi" };
    const volumeMounts = [{ name: "v", mountPath: "/v" }];
    const write = (path: string) => `dd if=/dev/zero of=${path} bs=1M count=200; sleep 600`;
    const messages = new Map<string, number>();
    let alive = 0;
    for (let at = 0; !signal.aborted; at++) {
      await createPod(target, `volume-${at}`, {
        containers: [shell(write("/v/x"), { volumeMounts })],
        volumes: [{ name: "v", emptyDir: { sizeLimit: "10Mi" } }],
      });
      await createPod(target, `root-${at}`, { containers: [shell(write("/x"), { resources: { limits } })] });
      for (const name of [`volume-${at}`, `root-${at}`]) {
        const limit = AbortSignal.timeout(45_000);
        const pod = await podWhen(target, name, { is: ({ status }) => status.phase === "Failed", signal: limit });
        if (pod) messages.set(pod.status.message ?? "", (messages.get(pod.status.message ?? "") ?? 0) + 1);
        else alive++;
        await deletePod(target, name);
      }
    }
    if (alive > 0) throw new Error(`${alive} pods were not evicted within 45 s`);
    return [...messages].map(([message, count]) => `${count}: ${message.trim()}`).join(" ");
  },
};
