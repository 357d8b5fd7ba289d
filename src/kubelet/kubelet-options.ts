import type { Taint } from "#api/core/node.ts";
import type { Client } from "#client/client.ts";
import type { ClaimManager } from "#kubelet/claims/claim-manager.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Random } from "#lib/data/random.ts";
import type { Log } from "#lib/process/log.ts";
import type { Informers } from "#runtime/informer.ts";
import type { TraceRecorder } from "#trace/recorder.ts";
import type { EvictionHost } from "./eviction/eviction.ts";
import type { PodHost } from "./host/host.ts";
import type { CredentialPlugin } from "./images/credential-plugins.ts";
import type { ImagePuller } from "./images/puller.ts";
import type { ClusterDns } from "./network/pod-dns.ts";
import type { NodeRoom } from "./node/admit.ts";
import type { Devices } from "./node/admit-devices.ts";
import type { Machine } from "./node/machine.ts";
import type { Placements } from "./placement/placements.ts";
import type { ContainerRuntime } from "./runtime/runtime.ts";
import type { NodeStats } from "./server/handle.ts";
import type { KubeletSettings } from "./settings.ts";
import type { StaticPods } from "./static/static-pods.ts";
import type { PodTokens } from "./volumes/written/service-account-tokens.ts";

export interface KubeletOptions {
  readonly nodeName: string;
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** Records hops. */
  readonly recorder?: TraceRecorder;
  readonly runtime: ContainerRuntime;
  readonly machine: Machine;
  /** By default a simulated machine, on which pods exist only as state. */
  readonly host?: PodHost;
  readonly random?: Random;
  /** What an administrator has chosen; upstream's defaults if absent. */
  readonly settings?: KubeletSettings;
  readonly puller?: ImagePuller;
  /** Where pods get their tokens; from the API server by default. */
  readonly tokens?: PodTokens;
  /** What device plugins offer; none by default. */
  readonly devices?: Devices;
  /** Processors and memory that pods have for themselves; by default they share all. */
  readonly placements?: Placements | undefined;
  /** Drivers of devices; default: none, and pods with claims run without them. */
  readonly claims?: ClaimManager;
  /** Pods that are declared in files; none by default. */
  readonly staticPods?: StaticPods;
  readonly clusterDns?: ClusterDns;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly podCidrs?: readonly string[];
  /** The port of the kubelet's HTTP server. */
  readonly kubeletPort?: number;
  readonly leaseMs?: number;
  /** How often the node's status is checked. */
  readonly checkMs?: number;
  /** Measures the machine; without it, the node is never under pressure. */
  readonly evictionHost?: EvictionHost;
  /** Whether it runs the pods that are bound to the node; true by default. Otherwise somebody else leads them. */
  readonly runsPods?: boolean;
  /** Whether it registers the Node and reports its status; true by default. The lease is its own in any case. */
  readonly reportsNode?: boolean;
  stats?(signal?: AbortSignal): Promise<NodeStats>;
  /** What the machine and its runtime can do; everything by default. */
  readonly features?: NodeRoom["features"];
  /** Programs that know logins for images. */
  readonly credentialPlugins?: readonly CredentialPlugin[] | undefined;
  /** Reports when the machine as a whole runs out of memory, until the signal. */
  watchSystemOom?(happened: (message: string) => void, signal: AbortSignal): Promise<void>;
  /** Where the state of containers is saved on request. */
  readonly checkpointDir?: string;
}
