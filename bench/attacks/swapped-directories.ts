import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createObject, createPod, isRunning, podWhen, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** A pod swaps directories of its volume with links to the host while its config map changes. */
export const attack: Attack = {
  name: "directories that become links while volumes are refreshed",
  claim: "no file of the host gets another owner or mode",
  needs: "node",

  async run(target, signal) {
    const victim = await mkdtemp(`${tmpdir()}/orlop-attack-`);
    await writeFile(`${victim}/file`, "", { mode: 0o600 });
    try {
      const swap = `cd /v; for i in $(seq 50); do mkdir -p d$i/sub; done; chmod 700 /v
        while :; do for i in $(seq 50); do mv d$i/sub d$i/.s; ln -s ${victim} d$i/sub; rm d$i/sub; mv d$i/.s d$i/sub; done; done`;
      await createObject(target, "ConfigMap", { metadata: { name: "conf" }, data: { a: "0" } });
      const mounts = [
        { name: "v", mountPath: "/v" },
        { name: "conf", mountPath: "/conf" },
      ];
      await createPod(target, "swap", {
        securityContext: { fsGroup: 4242 },
        containers: [shell(swap, { volumeMounts: mounts })],
        volumes: [
          { name: "v", emptyDir: {} },
          { name: "conf", configMap: { name: "conf" } },
        ],
      });
      const pod = await podWhen(target, "swap", { is: isRunning, signal });
      let refreshes = 0;
      while (!signal.aborted) {
        const path = `/api/v1/namespaces/${target.namespace}/configmaps/conf`;
        const body = { data: { a: String(++refreshes) } };
        await target.ask({ method: "PATCH", path, body, type: "application/merge-patch+json" });
        await sleep(100);
        for (const file of [victim, `${victim}/file`]) {
          const { gid, mode } = await stat(file);
          if (gid !== 0 || (mode & 0o077) !== 0)
            throw new Error(`${file} now has group ${gid}, mode ${mode.toString(8)}`);
        }
      }
      const volume = `${target.dataDir}/pods/${pod?.metadata.uid}/volumes/kubernetes.io~empty-dir/v`;
      if (((await stat(volume)).mode & 0o777) !== 0o700) throw new Error("the pod's own mode of its volume was undone");
      return `${refreshes} refreshes, the host's files are unchanged`;
    } finally {
      await rm(victim, { recursive: true });
    }
  },
};
