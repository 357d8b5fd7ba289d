import { readdir, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createPod, isRunning, podWhen, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** The most that all files of one log may hold: five of 10 MiB, and what is written between two checks. */
const maxMiB = 200;

/** A container that prints at full speed, and is restarted now and then. */
export const attack: Attack = {
  name: "an endless log",
  claim: `all its files together stay below ${maxMiB} MiB`,
  needs: "node",

  async run(target, signal) {
    await createPod(target, "log", { containers: [shell("timeout 8 yes 0123456789012345678901234567890123456789")] });
    const pod = await podWhen(target, "log", { is: isRunning, signal });
    const dir = `${target.dataDir}/logs/${target.namespace}_log_${pod?.metadata.uid}/main`;
    let peak = 0;
    while (!signal.aborted) {
      await sleep(250);
      peak = Math.max(peak, await sizeOf(dir));
      if (peak > maxMiB << 20) throw new Error(`the log takes ${peak >> 20} MiB`);
    }
    return `at most ${peak >> 20} MiB`;
  },
};

async function sizeOf(dir: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(dir).catch(() => [])) {
    bytes += (await stat(`${dir}/${name}`).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}
