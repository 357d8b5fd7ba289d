import { type Client } from "#client/client.ts";
import type { Machine } from "#kubelet/node/machine.ts";
import { nodeAccess } from "#kubelet/server/access.ts";
import type { KubeletHandle } from "#kubelet/server/handle.ts";
import { type KubeletServer, startKubeletServer } from "#kubelet/server/server.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { issueServingCertificate } from "#server/http/tls.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type Certificates, type Renewed } from "./certificates.ts";
import { kubeletSubject } from "./join/node-identity.ts";
import type { KubeletConfig } from "./kubelet-config/load.ts";

export interface ServeKubeletOptions {
  readonly nodeName: string;
  readonly kubeletPort: number;
  readonly client: Client;
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  readonly log: Log;
  readonly kubelet?: KubeletConfig;
  readonly recorder?: TraceRecorder;
}

/** Where the machine keeps its logs. */
const machineLogDir = "/var/log";
/** Where a node's server gets its certificate from, and whose certificates it accepts. */
export interface NodeIdentity {
  /** PEM of the cluster's authority. */
  readonly clientCa: string;
  /** Resolves once there is one for these addresses and names. */
  serving(hosts: readonly string[], signal: AbortSignal): Promise<Renewed>;
}

/** Of a node in the process of the API server, which has the authority's key. */
export const ownIdentity = (certificates: Certificates, nodeName: string, clock: Clock): NodeIdentity => ({
  get clientCa() {
    return certificates.pki.authority.certificate;
  },
  async serving(hosts) {
    const request = { subject: kubeletSubject(nodeName), hosts };
    return certificates.issue((pki) => issueServingCertificate(pki, clock, request));
  },
});

/** The node's own server, under a certificate that is renewed while it runs. */
export async function serveKubelet(
  options: ServeKubeletOptions,
  { machine, handle }: { readonly machine: Pick<Machine, "addresses" | "hostname">; readonly handle: KubeletHandle },
  signal: AbortSignal,
): Promise<KubeletServer> {
  const { identity, clock, log, kubeletPort, nodeName, client, kubelet } = options;
  const certificate = await identity.serving([...machine.addresses, machine.hostname, "127.0.0.1"], signal);
  const server = await startKubeletServer({
    ...credentialsOf(identity, certificate),
    port: kubeletPort,
    host: "0.0.0.0",
    handle,
    access: nodeAccess(nodeName, clock, client),
    ...(kubelet
      ? {
          configuration: { ...kubelet.configuration, port: kubeletPort },
          showsContainers: kubelet.settings.showsContainers,
        }
      : {}),
    hopsOf: (traceId) => options.recorder?.byTrace(traceId) ?? [],
    logDir: kubelet?.settings.showsMachineLogs ? machineLogDir : undefined,
    clock,
    log,
  });
  certificate.onChange(() => server.renew(credentialsOf(identity, certificate)));
  return server;
}

/** What the kubelet's server needs, as of now. */
const credentialsOf = ({ clientCa }: NodeIdentity, { current }: Renewed) => ({
  key: current.key,
  cert: current.certificate,
  clientCa,
});
