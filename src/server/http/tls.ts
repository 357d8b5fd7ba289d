import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type TLSSocket } from "node:tls";
import { type Peer } from "#api/exchange.ts";
import { renderKubeconfig } from "#client/kubeconfig/render-kubeconfig.ts";
import { type Clock } from "#lib/async/clock.ts";
import {
  type CertificateRequest,
  createAuthority,
  createCertificate,
  createKey,
  type KeyPair,
  keyToPem,
  notAfterMs,
  readSubject,
  type Subject,
} from "#lib/crypto/x509.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { versionOfIP } from "#lib/net/ip.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { messageOf } from "#lib/text/message-of.ts";

/** All initial keys and certificates of a cluster. */
export interface Pki {
  readonly authority: KeyPair;
  /** Vouches for this server where it speaks for its callers: at extension API servers. */
  readonly frontProxyAuthority: KeyPair;
  readonly serving: KeyPair;
  /** Member of system:masters: may do anything. */
  readonly admin: KeyPair;
  /** PEM of the private key that signs service account tokens. */
  readonly serviceAccountKey: string;
}

export interface PkiOptions {
  /** Names and addresses that clients use, in addition to the usual ones. */
  readonly hosts?: readonly string[];
  /** The address of the service `kubernetes`: the first of the service range. */
  readonly serviceAddress?: string;
  readonly clock: Clock;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const authorityDays = 3650;
const leafDays = 365;
const renewLeafBeforeMs = 90 * dayMs;
const renewAuthorityBeforeMs = 365 * dayMs;

/**
 * Reads the keys and certificates under `dir`, creates missing ones, and renews those that expire soon or lack a host.
 * A long-lived server calls it again to renew them.
 */
export async function loadOrCreatePki(dir: string, options: PkiOptions): Promise<Pki> {
  await makeDirectory(dir, { mode: 0o700 });
  const files = createFiles(dir);
  const now = options.clock.now();
  const [authority, frontProxyAuthority] = await Promise.all([
    loadAuthority(files, { name: "ca", commonName: "kubernetes", now }),
    loadAuthority(files, { name: "front-proxy-ca", commonName: "front-proxy-ca", now }),
  ]);
  const [serving, admin, serviceAccountKey] = await Promise.all([
    loadLeaf(files, "server", authority, { ...servingRequest(options), ...leafValidity(now) }),
    loadLeaf(files, "admin", authority, { subject: adminSubject, use: "client", ...leafValidity(now) }),
    loadSigningKey(files),
  ]);
  await files.flush();
  return { authority, frontProxyAuthority, serving, admin, serviceAccountKey };
}

/** A client certificate: its common name is the user, its organizations are the groups. */
export function issueClientCertificate(pki: Pick<Pki, "authority">, clock: Clock, subject: Subject): KeyPair {
  return createCertificate(pki.authority, { subject, use: "client", ...leafValidity(clock.now()) });
}

/** A certificate for a server of the cluster other than the API server, such as a node's agent. */
export function issueServingCertificate(
  pki: Pick<Pki, "authority">,
  clock: Clock,
  request: { readonly subject: Subject; readonly hosts: readonly string[] },
): KeyPair {
  return createCertificate(pki.authority, { ...request, use: "server", ...leafValidity(clock.now()) });
}

/** The administrator's kubeconfig, with everything inline. */
export const adminKubeconfig = (pki: Pki, server: string): string =>
  renderKubeconfig({
    name: "orlop",
    // Not the name in the certificate, because users' own files often have that one for another cluster.
    user: "orlop",
    server,
    certificateAuthority: pki.authority.certificate,
    ...pki.admin,
  });

/** What TLS knows about the peer. Read once for each connection, however many requests it carries. */
export function peerOf(socket: TLSSocket): Peer {
  const known = peers.get(socket);
  if (known) return known;
  const peer = readPeer(socket);
  peers.set(socket, peer);
  return peer;
}
const peers = new WeakMap<TLSSocket, Peer>();

function readPeer(socket: TLSSocket): Peer {
  const address = socket.remoteAddress ?? "";
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { address };
  if (socket.authorized) {
    const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
    return { address, certificate: { ...readSubject(certificate), fingerprint, notAfterMs: notAfterMs(certificate) } };
  }
  return { address, certificateFault: String(socket.authorizationError ?? "not verified") };
}

const adminSubject: Subject = { commonName: "kubernetes-admin", organizations: ["system:masters"] };

function servingRequest({ hosts = [], serviceAddress = "10.96.0.1" }: PkiOptions) {
  const service = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const all = new Set(["localhost", "127.0.0.1", "::1", ...service, serviceAddress, ...hosts]);
  return { subject: { commonName: "kube-apiserver" }, use: "server", hosts: [...all] } as const;
}

/** Whether a certificate expires so soon that it should be replaced. */
export const isDueForRenewal = ({ certificate }: KeyPair, now: number): boolean =>
  notAfterMs(new X509Certificate(certificate)) - now <= renewLeafBeforeMs;

/** Starts an hour earlier, for clients whose clocks are behind. */
const leafValidity = (now: number) => ({ notBeforeMs: now - hourMs, notAfterMs: now + leafDays * dayMs });

interface AuthorityRequest {
  /** Of its files. */
  readonly name: string;
  readonly commonName: string;
  readonly now: number;
}

async function loadAuthority(files: Files, { name, commonName, now }: AuthorityRequest): Promise<KeyPair> {
  const [certFile, keyFile] = [`${name}.crt`, `${name}.key`];
  const [certificate, key] = await Promise.all([files.read(certFile), files.read(keyFile)]);
  const validity = { notBeforeMs: now - hourMs, notAfterMs: now + authorityDays * dayMs };
  const request = { subject: { commonName }, ...validity };
  const advice = `put the file back from a copy, or move ${files.dir} away to start with new certificates (kubeconfigs and tokens made before then stop working)`;
  if (certificate === undefined && key === undefined) return files.writePair(name, createAuthority(request));
  if (key === undefined) throw new PkiError(`${files.path(keyFile)} is missing but ${certFile} is there: ${advice}`);
  const parsedKey = parsed(files.path(keyFile), advice, () => createPrivateKey(key));
  if (certificate === undefined) return files.writePair(name, createAuthority(request, parsedKey));
  const known = parsed(files.path(certFile), advice, () => new X509Certificate(certificate));
  if (!known.checkPrivateKey(parsedKey))
    throw new PkiError(`${files.path(keyFile)} is not the key of ${certFile}: ${advice}`);
  if (notAfterMs(known) - now > renewAuthorityBeforeMs) return { certificate, key };
  return files.writePair(name, createAuthority(request, parsedKey));
}

async function loadLeaf(files: Files, name: string, authority: KeyPair, request: CertificateRequest): Promise<KeyPair> {
  const [certificate, key] = await Promise.all([files.read(`${name}.crt`), files.read(`${name}.key`)]);
  const renewed = () => files.writePair(name, createCertificate(authority, request));
  if (certificate === undefined || key === undefined) return renewed();
  const advice = `delete ${name}.crt and ${name}.key in ${files.dir} and start again: new ones are made`;
  const known = parsed(files.path(`${name}.crt`), advice, () => new X509Certificate(certificate));
  const parsedKey = parsed(files.path(`${name}.key`), advice, () => createPrivateKey(key));
  const now = request.notBeforeMs + hourMs;
  const isGood =
    // An interrupted renewal leaves a key and a certificate that do not match.
    known.checkPrivateKey(parsedKey) &&
    notAfterMs(known) - now > renewLeafBeforeMs &&
    known.verify(new X509Certificate(authority.certificate).publicKey) &&
    (request.hosts ?? []).every((host) => covers(known, host));
  return isGood ? { certificate, key } : renewed();
}

async function loadSigningKey(files: Files): Promise<string> {
  const name = "service-account.key";
  const known = await files.read(name);
  if (known === undefined) return files.write(name, keyToPem(createKey()));
  const advice = "put the file back from a copy, or delete it to make a new one (tokens made before then stop working)";
  parsed(files.path(name), advice, () => createPrivateKey(known));
  return known;
}

const covers = (certificate: X509Certificate, host: string): boolean =>
  (versionOfIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined;

function parsed<T>(path: string, advice: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new PkiError(`${path} is damaged (${messageOf(cause)}): ${advice}`, { cause });
  }
}

/** Names the wrong file and what to do about it. */
export class PkiError extends Error {
  override readonly name = "PkiError";
}

interface Files {
  readonly dir: string;
  path(name: string): string;
  /** undefined if there is no such file. */
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): string;
  writePair(name: string, pair: KeyPair): KeyPair;
  /** Performs the writes; resolves once they are on the disk. */
  flush(): Promise<void>;
}

function createFiles(dir: string): Files {
  const writes: (() => Promise<void>)[] = [];
  const path = (name: string) => `${dir}/${name}`;
  const write = (name: string, text: string): string => {
    writes.push(() => writeWhole(path(name), text));
    return text;
  };
  return {
    dir,
    path,
    write,
    async read(name) {
      try {
        return await readFile(path(name), "utf8");
      } catch (cause) {
        if (errorCode(cause) === "ENOENT") return undefined;
        throw new PkiError(`cannot read ${path(name)} (${messageOf(cause)}): make it readable for this user`, {
          cause,
        });
      }
    },
    writePair(name, pair) {
      // The key first: a key alone can get a new certificate, a certificate alone is useless.
      writes.push(async () => {
        await writeWhole(path(`${name}.key`), pair.key);
        await writeWhole(path(`${name}.crt`), pair.certificate);
      });
      return pair;
    },
    async flush() {
      await Promise.all(writes.splice(0).map((write) => write()));
    },
  };
}

async function writeWhole(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text);
  } catch (cause) {
    throw new PkiError(`cannot write ${path} (${messageOf(cause)}): make its folder writable for this user`, { cause });
  }
}
