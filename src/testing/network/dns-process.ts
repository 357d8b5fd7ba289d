/**
 * Runs the cluster's DNS inside a network namespace for a test. The arguments are the address to listen on, the services
 * as a JSON object from name to cluster address in the namespace `default`, the pods' range, an upstream server, and the
 * domain of the cluster. It prints its port, and ends when stdin does.
 */
import { Namespace } from "#api/core/namespace.ts";
import { Service } from "#api/core/service.ts";
import { runDns } from "#dns/dns.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "../fake-informers.ts";

const [, , address = "", services = "{}", podCidr = "127.0.0.0/8", upstream = "", clusterDomain = "cluster.local"] =
  process.argv;
const informers = createFakeInformers();
informers.put(Namespace, { metadata: { name: "default" }, spec: {}, status: {} });
for (const [name, clusterIP] of Object.entries(JSON.parse(services) as Record<string, string>)) {
  informers.put(Service, {
    metadata: { namespace: "default", name },
    spec: { type: "ClusterIP", sessionAffinity: "None", clusterIP, clusterIPs: [clusterIP] },
    status: { loadBalancer: {} },
  });
}
const stop = new AbortController();
process.stdin.on("end", () => stop.abort()).resume();
await runDns(
  {
    ...{ informers, clock: systemClock, log: silentLog, clusterDomain },
    upstreams: upstream ? [upstream] : [],
    listen: { address, port: 0 },
    podCidrs: [podCidr],
    onListening: ({ port }) => {
      process.stdout.write(`${port}\n`);
    },
  },
  stop.signal,
);
