import { isIPv4 } from "node:net";
import { ConfigMap } from "#api/core/config-map.ts";
import { Node } from "#api/core/node.ts";
import { type KubeletFiles, loadKubeletFiles } from "#cluster/kubelet-config/load.ts";
import { type Clock } from "#lib/async/clock.ts";
import { orAborted, runTogether } from "#lib/async/tasks.ts";
import { type Random } from "#lib/data/random.ts";
import { ownAddresses } from "#lib/net/ip.ts";
import { type Log } from "#lib/process/log.ts";
import { startInformers } from "#runtime/cached-informer.ts";
import { type Informers } from "#runtime/informer.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { runNode } from "../node.ts";
import { type NodeIdentity } from "../serve-kubelet.ts";
import { explainJoin } from "./discover.ts";
import { type NetworkFacts, networkConfigName, readNetworkFacts } from "./network-facts.ts";
import { type Invitation, type NodeCredentials, openNodeCredentials } from "./node-credentials.ts";
import { refuseSecondNode } from "./own-machine.ts";

export interface AgentOptions {
  readonly nodeName: string;
  readonly dataDir: string;
  /** `https://10.0.0.1:6443` */
  readonly server: string;
  /** Needed until the node has its own certificate. */
  readonly invitation: Invitation | undefined;
  readonly kubeletPort: number;
  /** The address of the node; by default the machine's first one. */
  readonly address?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly kubeletFiles?: KubeletFiles | undefined;
  progress(step: string): void;
  /** Called once the token is no longer needed. */
  joined(): Promise<void>;
}

/** Joins the cluster if that has not happened yet, and runs this machine as a node of it, until the signal. */
export async function runAgent(
  options: AgentOptions,
  observe: (informers: Informers) => (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { dataDir, server, clock, log, random } = options;
  await using credentials = await openNodeCredentials({ ...options, dir: `${dataDir}/pki` }, signal);
  const facts = await readFacts(credentials, options, signal);
  await options.joined();
  options.progress(`joined ${server} as ${options.nodeName}`);
  await using informers = startInformers(credentials.client, { clock, log, random });
  await using networkInformers = startInformers(credentials.servicesClient, { clock, log, random });
  const recorder = new TraceRecorder({ clock });
  const identity = identityOf(options, credentials, informers);
  const { client, servicesClient: provisionerClient } = credentials;
  const kubelet = await loadKubeletFiles(options.kubeletFiles ?? {});
  const own = { client, provisionerClient, informers, networkInformers, recorder, identity, kubelet };
  const node = { ...options, ...facts, ...own, isFurther: true };
  await runTogether(signal, [
    (ended) => credentials.run(ended),
    (ended) => runNode(node, ended),
    (ended) => observe(informers)(ended),
  ]);
}

async function readFacts(
  { client, servicesClient }: NodeCredentials,
  { nodeName, server }: AgentOptions,
  signal: AbortSignal,
): Promise<NetworkFacts> {
  try {
    const nodes = await servicesClient.list(Node, { signal });
    refuseSecondNode({ nodeName, addresses: ownAddresses() }, nodes.items);
    const { data = {} } = await client.get(
      ConfigMap,
      { namespace: "kube-system", name: networkConfigName },
      { signal },
    );
    return readNetworkFacts(data);
  } catch (error) {
    throw explainJoin(error, server);
  }
}

const identityOf = ({ nodeName }: AgentOptions, credentials: NodeCredentials, informers: Informers): NodeIdentity => ({
  clientCa: credentials.ca,
  async serving(hosts, signal) {
    const addresses = hosts.filter((host) => isIPv4(host) && !host.startsWith("127."));
    await untilReported({ nodeName, addresses }, informers, signal);
    return await credentials.serving(addresses, signal);
  },
});

/** The cluster signs only for addresses that the node has. */
async function untilReported(
  { nodeName, addresses }: { readonly nodeName: string; readonly addresses: readonly string[] },
  informers: Informers,
  signal: AbortSignal,
): Promise<void> {
  const nodes = informers.of(Node, { fieldSelector: `metadata.name=${nodeName}` });
  const seen = Promise.withResolvers<void>();
  const stop = nodes.subscribe(({ object: { status } }) => {
    const reported = new Set((status?.addresses ?? []).map(({ address }) => address));
    if (addresses.every((address) => reported.has(address))) seen.resolve();
  });
  try {
    await orAborted(seen.promise, signal);
  } finally {
    stop();
  }
}
