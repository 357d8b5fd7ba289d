import { readlink } from "node:fs/promises";
import { type Client } from "#client/client.ts";
import { runDns } from "#dns/dns.ts";
import { ensureDnsService } from "#dns/dns-service.ts";
import { hostUpstreams, isLoopback } from "#dns/upstream.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type OwnEndpoint } from "#proxy/own-endpoint.ts";
import { type Informers } from "#runtime/informer.ts";

export const clusterDomain = "cluster.local";

export interface NamesOptions {
  readonly nodeName: string;
  readonly dnsAddress: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** Publishes the service of cluster DNS. A node that joined has no right to. */
  readonly dnsClient?: Client | undefined;
  readonly networkInformers: Informers;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs cluster DNS for the pods of this node, so that no other node can take it away from them. Where the machine's own
 * servers cannot be reached, pods use the DNS of the first node.
 */
export async function runNames(
  options: NamesOptions,
  { address, ownEndpoint }: { readonly address: string; readonly ownEndpoint: OwnEndpoint },
  signal: AbortSignal,
): Promise<void> {
  const { dnsClient, nodeName, dnsAddress: clusterIP, clusterCidr, serviceCidr, log } = options;
  const upstreams = await hostUpstreams();
  if (!dnsClient && upstreams.every(isLoopback) && upstreams.length > 0 && (await hasOwnNetwork())) {
    log.info("cluster DNS runs on the first node only: the servers of this machine listen on its loopback", {
      upstreams,
    });
    return;
  }
  await runDns(
    {
      ...options,
      informers: options.networkInformers,
      listen: { address, port: 0 },
      clusterDomain,
      upstreams,
      clusterIP,
      cidrs: [...clusterCidr.split(","), ...serviceCidr.split(",")],
      podCidrs: clusterCidr.split(","),
      async onListening(at) {
        if (dnsClient) await ensureDnsService(dnsClient, { ...at, clusterIP, nodeName });
        ownEndpoint.server = at;
      },
    },
    signal,
  );
}

/** Whether this process is in another network namespace than the machine, whose loopback it cannot reach. */
async function hasOwnNetwork(): Promise<boolean> {
  const [machine, own] = await Promise.all(["1", "self"].map((pid) => readlink(`/proc/${pid}/ns/net`).catch(() => "")));
  return machine !== own;
}
