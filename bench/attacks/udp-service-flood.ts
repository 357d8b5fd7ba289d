import { must, newServiceMs, podBody, startPod } from "../lib/network-claims.ts";
import { type Attack } from "./attack.ts";

const services = 300;
const ports = Array.from({ length: 10 }, (_, index) => ({ name: `p${index}`, port: 5000 + index, protocol: "UDP" }));

export const attack: Attack = {
  name: "udp-service-flood",
  claim: "stale UDP flows are cleared beside the rules, so no new service waits for them",
  needs: "node",

  async prepare(target) {
    await startPod(target, podBody("udp", "exec sleep 3600"));
  },

  async run(target, signal) {
    const path = `/api/v1/namespaces/${target.namespace}/services`;
    let removed = 0;
    let slowestMs = 0;
    while (!signal.aborted) {
      for (let index = 0; index < services && !signal.aborted; index++) {
        const body = {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: `flood-${index}` },
          spec: { selector: { app: "attacker" }, ports },
        };
        await must(target, { method: "POST", path, body });
      }
      slowestMs = Math.max(slowestMs, await newServiceMs(target));
      await must(target, { method: "DELETE", path });
      removed += services;
      slowestMs = Math.max(slowestMs, await newServiceMs(target));
    }
    if (slowestMs > 10_000) throw new Error(`a new service took ${Math.round(slowestMs)} ms`);
    return `${removed} services with 10 UDP ports removed; a new one worked within ${Math.round(slowestMs)} ms`;
  },
};
