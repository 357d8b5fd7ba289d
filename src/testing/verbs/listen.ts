import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { AssembledServer } from "#cluster/api-server.ts";
import { type Clock, systemClock } from "#lib/async/clock.ts";
import type { KeyPair } from "#lib/crypto/x509.ts";
import { createAuthority } from "#lib/crypto/x509.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import type { Log } from "#lib/process/log.ts";
import { listen } from "#server/http/serve.ts";
import { adminKubeconfig, issueClientCertificate, issueServingCertificate, peerOf } from "#server/http/tls.ts";

export interface ListenOptions {
  /** The address to listen on; 127.0.0.1 by default. */
  readonly host?: string;
  /** A free port by default. */
  readonly port?: number;
  /** How many seconds of the virtual clock pass in a real one while it listens; 1 by default, 0: none. */
  readonly speed?: number;
}

/** How clients of any language reach a cluster. */
export interface Listening extends AsyncDisposable {
  readonly url: string;
  /** An administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** A file with the same, which exists while the cluster listens. */
  readonly kubeconfigFile: string;
}

export interface ListenDeps {
  readonly api: AssembledServer;
  readonly log: Log;
}

/** Serves the cluster over TLS. Certificates are valid in real time, whatever the cluster's clock says. */
export async function openListening({ api, log }: ListenDeps, options: ListenOptions): Promise<Listening> {
  const { host = "127.0.0.1", port = 0 } = options;
  const now = systemClock.now();
  const validity = { notBeforeMs: now - hourMs, notAfterMs: now + 365 * 24 * hourMs };
  const authority = createAuthority({ subject: { commonName: "kubernetes" }, ...validity });
  const serving = issueServingCertificate({ authority }, systemClock, {
    subject: { commonName: "kube-apiserver" },
    hosts: [host, "localhost"],
  });
  const admin = issueClientCertificate({ authority }, systemClock, {
    commonName: "kubernetes-admin",
    organizations: ["system:masters"],
  });
  const open = await listen((request) => api.server.serve(request), {
    host,
    port,
    key: serving.key,
    cert: serving.certificate,
    ca: authority.certificate,
    clock: systemClock,
    log,
    peerOf,
  });
  const url = `https://${hostInUrl(host)}:${open.port}`;
  const kubeconfig = adminKubeconfig(onlyThese(authority, serving, admin), url);
  const directory = await mkdtemp(path.join(tmpdir(), "orlop-cluster-"));
  const kubeconfigFile = path.join(directory, "kubeconfig");
  await writeFile(kubeconfigFile, kubeconfig, { mode: 0o600 });
  return {
    url,
    kubeconfig,
    kubeconfigFile,
    async [Symbol.asyncDispose]() {
      await open[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const hourMs = 3_600_000;
const onlyThese = (authority: KeyPair, serving: KeyPair, admin: KeyPair) => ({
  authority,
  frontProxyAuthority: authority,
  serving,
  admin,
  serviceAccountKey: "",
});

/** Lets virtual time pass along with real time, so that programs outside can wait for something to happen. */
export async function passTime(
  clock: { advance(ms: number): Promise<void> },
  speed: number,
  signal: AbortSignal,
): Promise<void> {
  const system: Clock = systemClock;
  let last = system.now();
  while (!signal.aborted) {
    await system.sleep(stepMs, signal).catch(() => {});
    if (signal.aborted) return;
    const now = system.now();
    await clock.advance((now - last) * speed);
    last = now;
  }
}
const stepMs = 10;
