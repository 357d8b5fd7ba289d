import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { countEvents, createPod, deletePod, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

const servers = ["-T/proc/self/environ", "--options-source=fstab", "-o,bind", "--bind", "a b", "x,exec"];

/** NFS servers whose names are options of the mount program. */
export const attack: Attack = {
  name: "NFS servers that are options of mount",
  claim: "none reaches the mount program, and events say why",
  needs: "node",

  async run(target, signal) {
    let created = 0;
    let refused = 0;
    while (!signal.aborted) {
      const names = servers.map((_, at) => `nfs-${created + at}`);
      for (const [at, name] of names.entries()) {
        const nfs = { server: servers[at], path: "/" };
        const volumeMounts = [{ name: "v", mountPath: "/v" }];
        await createPod(target, name, {
          containers: [shell("cat /v/*", { volumeMounts })],
          volumes: [{ name: "v", nfs }],
        });
      }
      created += names.length;
      for (let wait = 0; wait < 50 && refused < created && !signal.aborted; wait++) {
        await sleep(200);
        refused = await countEvents(target, "not a host name or IP address");
      }
      for (const name of names) await deletePod(target, name);
    }
    if ((await readFile("/proc/self/mountinfo", "utf8")).includes("kubernetes.io~nfs"))
      throw new Error("something is mounted");
    if (refused === 0) throw new Error("no event says that a server was refused");
    return `${created} pods, ${refused} refused by an event, nothing mounted`;
  },
};
