import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";

const pods = ({ namespace }: AttackTarget): string => `/api/v1/namespaces/${namespace}/pods`;

const manifest = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "orlop.dev/busybox:1", command: ["sleep", "1000"] }],
  },
});

/** Creates a pod and deletes it within its first second. Resolves with whether it was accepted. */
async function flash(target: AttackTarget, name: string): Promise<boolean> {
  const { status } = await target.ask({ method: "POST", path: pods(target), body: manifest(name) });
  if (status >= 300) return false;
  await pause(Math.random() * 900);
  await target.ask({ method: "DELETE", path: `${pods(target)}/${name}` });
  return true;
}

async function countLeft(target: AttackTarget): Promise<number> {
  const { text } = await target.ask({ path: pods(target) });
  const { items } = JSON.parse(text) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
  return items.filter(({ metadata }) => metadata.name.startsWith("flash-")).length;
}

export const attack: Attack = {
  name: "delete while creating",
  claim: "every pod is removed, and none stays in Terminating",
  needs: "node",
  async run(target, signal) {
    let [next, accepted] = [0, 0];
    const work = async (): Promise<void> => {
      while (!signal.aborted) if (await flash(target, `flash-${next++}`)) accepted++;
    };
    await Promise.all(Array.from({ length: 4 }, work));
    for (let waited = 0; waited < 120; waited++) {
      if ((await countLeft(target)) === 0) return `${accepted} pods deleted in their first second, 0 left`;
      await pause(500);
    }
    throw new Error(`${await countLeft(target)} of ${accepted} pods are left after a minute`);
  },
};
