import { dnsAddress, dnsWorks, must, newServiceMs, podBody, startPod } from "../lib/network-claims.ts";
import { type Attack } from "./attack.ts";

const name = `thief-${"x".repeat(190)}`;

export const attack: Attack = {
  name: "host-port-foreign-address",
  claim: "a host port is only on the node's own addresses, and odd ones block no rules of others",
  needs: "node",

  async run(target, signal) {
    const dns = await dnsAddress(target);
    let rounds = 0;
    let slowestMs = 0;
    for (; !signal.aborted; rounds++) {
      const ports = [
        { containerPort: 53, hostPort: 53, hostIP: dns, protocol: "UDP" },
        { containerPort: 53, hostPort: 53, hostIP: dns, protocol: "TCP" },
        { containerPort: 53, hostPort: 53, hostIP: "08.8.8.8" },
        { containerPort: 53, hostPort: 53, hostIP: "no address; flush ruleset" },
      ];
      await startPod(target, podBody(name, "exec sleep 3600", { ports }));
      for (const transport of ["udp", "tcp"] as const) {
        if (!(await dnsWorks(dns, transport))) throw new Error(`DNS over ${transport} went elsewhere`);
      }
      slowestMs = Math.max(slowestMs, await newServiceMs(target));
      const path = `/api/v1/namespaces/${target.namespace}/pods/${name}`;
      await must(target, { method: "DELETE", path });
      while ((await target.ask({ path })).status !== 404) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return `${rounds} pods got no traffic; a new service of somebody else worked within ${Math.round(slowestMs)} ms`;
  },
};
