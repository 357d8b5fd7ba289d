import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";

interface Seen {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly started?: boolean;
      readonly state: { readonly running?: object };
    }[];
  };
}

const podPath = ({ namespace }: AttackTarget): string => `/api/v1/namespaces/${namespace}/pods`;
const manifest = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "hooked" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: "orlop.dev/busybox:1",
        command: ["sleep", "1000"],
        lifecycle: { postStart: { exec: { command: ["sleep", "1000"] } } },
      },
    ],
  },
};

export const attack: Attack = {
  name: "ready before its hook",
  claim: "a pod is neither ready nor started while its postStart hook runs",
  needs: "node",
  async prepare(target) {
    await target.ask({ method: "POST", path: podPath(target), body: manifest });
  },
  async run(target, signal) {
    let [looks, running] = [0, 0];
    while (!signal.aborted) {
      const { text } = await target.ask({ path: `${podPath(target)}/hooked` });
      const { status = {} } = JSON.parse(text) as Seen;
      const ready = status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
      const [main] = status.containerStatuses ?? [];
      if (ready || main?.started) throw new Error("the pod was ready or started before its hook had ended");
      looks++;
      if (main?.state.running) running++;
      await pause(100);
    }
    return `checked ${looks} times, ${running} of them while the hook ran; never ready`;
  },
  async cleanUp(target) {
    await target.ask({ method: "DELETE", path: `${podPath(target)}/hooked` });
  },
};
