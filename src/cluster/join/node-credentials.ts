import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { type Client } from "#client/client.ts";
import { httpClient } from "#client/transport/http.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type KeyPair, readSubject, type Subject } from "#lib/crypto/x509.ts";
import { type Random } from "#lib/data/random.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { type Log } from "#lib/process/log.ts";
import { checkAuthority, JoinError, type JoinToken } from "./cluster-info.ts";
import { discoverAuthority, explainJoin } from "./discover.ts";
import { KeptCertificate } from "./kept-certificate.ts";
import { kubeletSubject, nodeServicesSubject } from "./node-identity.ts";
import { type CertificateWish, requestCertificate } from "./request-certificate.ts";

/** What a machine needs until it has its own certificate. */
export interface Invitation {
  readonly token: JoinToken;
  readonly caHashes: readonly string[];
  /** PEM of the authority, if the user gave it. */
  readonly ca?: string | undefined;
}

export interface CredentialOptions {
  readonly nodeName: string;
  /** Where keys and certificates are kept. */
  readonly dir: string;
  readonly server: string;
  readonly invitation: Invitation | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** The identities of a node that is not in the API server's process. */
export interface NodeCredentials extends AsyncDisposable {
  /** PEM of the cluster's authority. */
  readonly ca: string;
  /** Acts as the node. */
  readonly client: Client;
  /** Acts as the network of the node. */
  readonly servicesClient: Client;
  /** The certificate of the node's server, for these addresses. The node must have reported them. */
  serving(addresses: readonly string[], signal: AbortSignal): Promise<KeptCertificate>;
  /** Renews the certificates until the signal. */
  run(signal: AbortSignal): Promise<void>;
}

/** Takes the credentials on the disk, or joins the cluster. */
export async function openNodeCredentials(options: CredentialOptions, signal: AbortSignal): Promise<NodeCredentials> {
  await makeDirectory(options.dir, { mode: 0o700 });
  await using opened = new AsyncDisposableStack();
  const ca = await authorityOf(options, signal);
  const keep = keeperOf(options, ca);
  const wishes = wishesOf(options.nodeName);
  const join = () => joinWithToken(options, { ca, wish: wishes.client }, signal);
  const node = await keep("kubelet-client", wishes.client, join);
  const client = opened.use(clientWith(options, ca, node));
  const ask = (wish: CertificateWish, ended: AbortSignal) =>
    requestCertificate(client, wish, { ...options, signal: ended });
  const services = await keep("node-services", wishes.services, () => ask(wishes.services, signal)).catch(
    (error: unknown) => {
      throw explainJoin(error, options.server);
    },
  );
  const servicesClient = opened.use(clientWith(options, ca, services));
  const server = Promise.withResolvers<{ readonly kept: KeptCertificate; readonly wish: CertificateWish }>();
  const held = opened.move();
  return {
    ca,
    client,
    servicesClient,
    async serving(addresses, ended) {
      const wish = { ...wishes.server, hosts: addresses };
      const kept = await keep("kubelet-server", wish, () => ask(wish, ended));
      server.resolve({ kept, wish });
      return kept;
    },
    async run(ended) {
      const renew = (kept: KeptCertificate, wish: CertificateWish) => kept.run(() => ask(wish, ended), ended);
      const later = server.promise.then(({ kept, wish }) => renew(kept, wish));
      await Promise.all([renew(node, wishes.client), renew(services, wishes.services), later]);
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** What a node asks the cluster to sign. */
const wishesOf = (nodeName: string) => ({
  client: {
    signerName: "kubernetes.io/kube-apiserver-client-kubelet",
    subject: kubeletSubject(nodeName),
    use: "client auth" as const,
  },
  services: {
    signerName: "kubernetes.io/kube-apiserver-client",
    subject: nodeServicesSubject(nodeName),
    use: "client auth" as const,
  },
  server: {
    signerName: "kubernetes.io/kubelet-serving",
    subject: kubeletSubject(nodeName),
    use: "server auth" as const,
  },
});

/** The authority that vouched for the cluster when this machine joined, or joins now. */
async function authorityOf(options: CredentialOptions, signal: AbortSignal): Promise<string> {
  const { dir, server, invitation, clock, log } = options;
  const file = path.join(dir, "ca.crt");
  const known = await readFile(file, "utf8").catch(() => undefined);
  if (known !== undefined) {
    if (invitation) checkAuthority(known, invitation.caHashes);
    return known;
  }
  if (!invitation) throw new JoinError("this machine has not joined yet: give it a token with --token");
  const ca = await discoverAuthority({ server, ...invitation, clock, log }, signal);
  await replaceFile(file, ca);
  return ca;
}

type Keep = (name: string, wish: CertificateWish, obtain: () => Promise<KeyPair>) => Promise<KeptCertificate>;

/** A certificate on the disk is good if it is from this authority, and says what a new one would. */
function keeperOf({ dir, clock, random, log }: CredentialOptions, ca: string): Keep {
  const authority = new X509Certificate(ca);
  return (name, { subject, hosts = [] }, obtain) => {
    const fits = (certificate: X509Certificate) =>
      isFor(certificate, subject) &&
      certificate.verify(authority.publicKey) &&
      hosts.every((host) => certificate.checkIP(host) !== undefined);
    return KeptCertificate.open({ file: path.join(dir, `${name}.pem`), clock, random, log, fits }, obtain);
  };
}

const isFor = (certificate: X509Certificate, { commonName }: Subject): boolean =>
  readSubject(certificate).commonName === commonName;

function clientWith({ server, clock, log }: CredentialOptions, ca: string, kept: KeptCertificate) {
  const certificate = () => ({ cert: kept.current.certificate, key: kept.current.key });
  return httpClient({ server, tls: { ca, certificate }, userAgent: "orlop-agent" }, { clock, log });
}

async function joinWithToken(
  { server, invitation, clock, log }: CredentialOptions,
  { ca, wish }: { readonly ca: string; readonly wish: CertificateWish },
  signal: AbortSignal,
): Promise<KeyPair> {
  if (!invitation) {
    throw new JoinError(
      "the certificate of this machine has expired: give it a token with --token, and it joins again",
    );
  }
  const { id, secret } = invitation.token;
  await using client = httpClient({ server, tls: { ca }, auth: { token: `${id}.${secret}` } }, { clock, log });
  try {
    return await requestCertificate(client, wish, { clock, signal });
  } catch (error) {
    throw explainJoin(error, server);
  }
}
