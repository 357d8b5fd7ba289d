import { dnsAddress, dnsWorks, must, podBody, startPod } from "../lib/network-claims.ts";
import { type Attack } from "./attack.ts";

export const attack: Attack = {
  name: "external-ip-of-dns",
  claim: "an external address that is a cluster address gets no traffic",
  needs: "node",

  async prepare(target) {
    await startPod(target, podBody("thief", "exec sleep 3600"));
  },

  async run(target, signal) {
    const dns = await dnsAddress(target);
    const path = `/api/v1/namespaces/${target.namespace}/services`;
    let rounds = 0;
    for (; !signal.aborted; rounds++) {
      const ports = ["UDP", "TCP"].map((protocol) => ({ name: protocol.toLowerCase(), port: 53, protocol }));
      const spec = { selector: { app: "attacker" }, externalIPs: [dns], ports };
      const body = { apiVersion: "v1", kind: "Service", metadata: { name: "a-thief" }, spec };
      await must(target, { method: "POST", path, body });
      for (let look = 0; look < 10; look++) {
        for (const transport of ["udp", "tcp"] as const) {
          if (!(await dnsWorks(dns, transport))) throw new Error(`DNS over ${transport} went elsewhere`);
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await must(target, { method: "DELETE", path: `${path}/a-thief` });
    }
    return `${rounds * 20} questions answered by the cluster's DNS while ${rounds} services claimed its address`;
  },
};
