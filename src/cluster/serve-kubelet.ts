import { type Client } from "#client/client.ts";
import type { Machine } from "#kubelet/node/machine.ts";
import { nodeAccess } from "#kubelet/server/access.ts";
import type { KubeletHandle } from "#kubelet/server/handle.ts";
import { type KubeletServer, startKubeletServer } from "#kubelet/server/server.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { issueServingCertificate } from "#server/http/tls.ts";
import { type Certificates, type Renewed } from "./certificates.ts";
import type { KubeletConfig } from "./kubelet-config/load.ts";

export interface ServeKubeletOptions {
  readonly nodeName: string;
  readonly kubeletPort: number;
  readonly client: Client;
  readonly certificates: Certificates;
  readonly clock: Clock;
  readonly log: Log;
  readonly kubelet?: KubeletConfig;
}

/** Where the machine keeps its logs. */
const machineLogDir = "/var/log";

/** The node's own server, under a certificate that is renewed while it runs. */
export async function serveKubelet(
  options: ServeKubeletOptions,
  { machine, handle }: { readonly machine: Pick<Machine, "addresses" | "hostname">; readonly handle: KubeletHandle },
): Promise<KubeletServer> {
  const { certificates, clock, log, kubeletPort, nodeName, client, kubelet } = options;
  const subject = { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
  const hosts = [...machine.addresses, machine.hostname, "127.0.0.1"];
  const certificate = certificates.issue((pki) => issueServingCertificate(pki, clock, { subject, hosts }));
  const server = await startKubeletServer({
    ...credentialsOf(certificates, certificate),
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
    logDir: kubelet?.settings.showsMachineLogs ? machineLogDir : undefined,
    clock,
    log,
  });
  certificate.onChange(() => server.renew(credentialsOf(certificates, certificate)));
  return server;
}

/** What the kubelet's server needs, as of now. */
const credentialsOf = ({ pki }: Certificates, { current }: Renewed) => ({
  key: current.key,
  cert: current.certificate,
  clientCa: pki.authority.certificate,
});
