import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createPod, deletePod, isRunning, podWhen, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** Volumes with directories that are deeper than the longest path. */
export const attack: Attack = {
  name: "endless directory trees",
  claim: "removed with their pods",
  needs: "node",

  async run(target, signal) {
    const script = `cd /v; n=$(printf %0200d 0); for i in $(seq 200); do mkdir $n && cd $n && touch file; done; sleep 600`;
    const directories: string[] = [];
    for (let at = 0; !signal.aborted; at++) {
      const name = `deep-${at}`;
      const volumeMounts = [{ name: "v", mountPath: "/v" }];
      await createPod(target, name, {
        containers: [shell(script, { volumeMounts })],
        volumes: [{ name: "v", emptyDir: {} }],
      });
      const pod = await podWhen(target, name, { is: isRunning, signal });
      if (pod) directories.push(`${target.dataDir}/pods/${pod.metadata.uid}`);
      await sleep(1000);
      await deletePod(target, name);
    }
    for (let wait = 0; wait < 100 && directories.some(existsSync); wait++) await sleep(200);
    const left = directories.filter(existsSync);
    if (left.length > 0) throw new Error(`${left.length} of ${directories.length} pods left their files`);
    return `${directories.length} trees removed`;
  },
};
