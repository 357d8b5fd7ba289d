import { setTimeout as sleep } from "node:timers/promises";
import { countEvents, createObject, createPod, deletePod, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** Small pods that refer to large objects often: secrets in a hundred volumes, and variables that double each other. */
export const attack: Attack = {
  name: "pods that refer to large objects often",
  claim: "limited before anything is decoded or written",
  needs: "node",

  async prepare(target) {
    const data = { large: Buffer.alloc(700_000, 1).toString("base64") };
    await createObject(target, "Secret", { metadata: { name: "large" }, data });
  },

  async run(target, signal) {
    const volumes = Array.from({ length: 100 }, (_, at) => ({ name: `v${at}`, secret: { secretName: "large" } }));
    const secret = (at: number) => ({ name: "large", items: [{ key: "large", path: `copy-${at}` }] });
    const projected = { sources: Array.from({ length: 2000 }, (_, at) => ({ secret: secret(at) })) };
    const env = Array.from({ length: 40 }, (_, at) => ({
      name: `V${at}`,
      value: at === 0 ? "x" : `$(V${at - 1})`.repeat(2),
    }));
    const main = [shell("sleep 600")];
    const specs = [
      { containers: main, volumes },
      { containers: main, volumes: [{ name: "all", projected }] },
      { containers: main, volumes: [{ name: "huge", emptyDir: { medium: "HugePages-2Mi,size=1G" } }] },
      { containers: [shell("sleep 600", { env })] },
    ];
    let count = 0;
    for (; !signal.aborted; count++) {
      const names = specs.map((_, at) => `swollen-${count}-${at}`);
      for (const [at, name] of names.entries()) await createPod(target, name, specs[at] ?? {});
      await sleep(3000);
      for (const name of names) await deletePod(target, name);
    }
    const told = await Promise.all(
      ["projected files on memory exceed", "unknown storage medium", "environment are longer than"].map((words) =>
        countEvents(target, words),
      ),
    );
    if (told.includes(0)) throw new Error(`not every kind was refused: ${told.join(", ")}`);
    return `${count * specs.length} pods; refused by events: ${told.join(", ")}`;
  },
};
