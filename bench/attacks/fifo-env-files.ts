import { setTimeout as sleep } from "node:timers/promises";
import { countEvents, createPod, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** Variables from files that are FIFOs without a writer: a process that opens one waits forever. */
export const attack: Attack = {
  name: "variables from FIFOs",
  claim: "not opened, so no thread blocks",
  needs: "node",

  async run(target, signal) {
    const volumeMounts = [{ name: "v", mountPath: "/v" }];
    const env = (path: string) => [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path, key: "A" } } }];
    const make = "mkfifo /v/fifo; ln -s /dev/zero /v/zero; ln -s / /v/root; truncate -s 1G /v/large";
    for (let at = 0; at < 8; at++) {
      await createPod(target, `fifo-${at}`, {
        initContainers: [shell(make, { name: "init", volumeMounts })],
        containers: ["fifo", "zero", "root/etc/passwd", "large"].map((path, index) =>
          shell("env; sleep 600", { name: `c${index}`, env: env(path) }),
        ),
        volumes: [{ name: "v", emptyDir: {} }],
      });
    }
    let told = 0;
    while (!signal.aborted) {
      await sleep(500);
      told = await countEvents(target, "cannot read file");
      // The server must keep answering while the kubelet meets the FIFOs.
      const answer = await target.ask({ path: `/api/v1/namespaces/${target.namespace}/pods` });
      if (answer.status !== 200) throw new Error(`pods are not listed: ${answer.status}`);
    }
    for (let wait = 0; wait < 40 && told === 0; wait++) {
      await sleep(500);
      told = await countEvents(target, "cannot read file");
    }
    if (told === 0) throw new Error("no event says that a file was refused");
    return `${told} of 8 pods have an event that their files are not read`;
  },
};
