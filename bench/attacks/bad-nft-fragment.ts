import { must, newServiceMs } from "../lib/network-claims.ts";
import { type Attack } from "./attack.ts";

/** Names and addresses at the limit of what the API server accepts. */
const odd = (index: number) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: `${"odd-".repeat(14)}${index}` },
  spec: {
    type: "LoadBalancer",
    externalIPs: ["203.0.113.1", "2001:db8::1", "255.255.255.254", "239.1.1.1"],
    loadBalancerSourceRanges: ["10.0.0.0/8", "10.0.0.0/9", " 10.1.0.0/16 ", "10.1.0.0/16", "fd00::/8", "192.0.2.1/32"],
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 + index } },
    externalTrafficPolicy: "Local",
    ports: ["TCP", "UDP", "SCTP"].map((protocol) => ({ name: protocol.toLowerCase(), port: 65_535 - index, protocol })),
  },
});

export const attack: Attack = {
  name: "bad-nft-fragment",
  claim: "services with odd values do not keep others from their rules",
  needs: "node",

  async run(target, signal) {
    const path = `/api/v1/namespaces/${target.namespace}/services`;
    let accepted = 0;
    let refused = 0;
    let slowestMs = 0;
    for (let index = 0; !signal.aborted; index++) {
      const { status } = await target.ask({ method: "POST", path, body: odd(index % 200) });
      if (status < 300) accepted++;
      else refused++;
      if (index % 20 === 19) slowestMs = Math.max(slowestMs, await newServiceMs(target));
      if (index % 200 === 199) await must(target, { method: "DELETE", path });
    }
    if (slowestMs > 10_000) throw new Error(`a new service took ${Math.round(slowestMs)} ms`);
    return `${accepted} odd services accepted, ${refused} refused; a service of somebody else worked within ${Math.round(slowestMs)} ms`;
  },
};
