import { type X509Certificate } from "node:crypto";
import { type TLSSocket } from "node:tls";
import { type Peer } from "#api/exchange.ts";
import { certificatesIn, notAfterMs, readSubject } from "#lib/crypto/x509.ts";
import { ConfigFileError } from "#server/config/config-file.ts";
import { peerOf } from "./tls.ts";

export interface PeerAuthorities {
  /** The authority of clients at this moment, in PEM. */
  clients(): string;
  /** The authorities of front proxies, in PEM. */
  readonly frontProxies: string;
}

/**
 * Tells clients and front proxies apart. TLS accepts the certificates of both authorities, but a proxy's certificate
 * names no user, and a user's certificate does not make a proxy.
 */
export function peersOf({ clients, frontProxies }: PeerAuthorities): (socket: TLSSocket) => Peer {
  const known = new WeakMap<TLSSocket, Peer>();
  const proxies = certificatesIn(frontProxies);
  return (socket) => {
    const seen = known.get(socket);
    if (seen) return seen;
    const peer = sorted(socket, { clients: certificatesIn(clients()), proxies });
    known.set(socket, peer);
    return peer;
  };
}

/** With a common authority, every client could say that it is a proxy, unless the proxies are named. */
export function checkSeparate(
  { ca, options }: { readonly ca: string; readonly options: { readonly allowedNames: readonly string[] } },
  clientCa: string,
): void {
  const own = new Set(certificatesIn(clientCa).map(({ fingerprint256 }) => fingerprint256));
  if (options.allowedNames.length > 0 || !certificatesIn(ca).some(({ fingerprint256 }) => own.has(fingerprint256)))
    return;
  throw new ConfigFileError(
    "--requestheader-client-ca-file has the authority of clients: give proxies an authority of their own, or name them with --requestheader-allowed-names",
  );
}

interface Authorities {
  readonly clients: readonly X509Certificate[];
  readonly proxies: readonly X509Certificate[];
}

function sorted(socket: TLSSocket, { clients, proxies }: Authorities): Peer {
  const peer = peerOf(socket);
  const certificate = socket.getPeerX509Certificate();
  if (!peer.certificate || !certificate) return peer;
  const { address, certificate: subject } = peer;
  const frontProxy = isFrom(certificate, proxies) ? { frontProxy: proxyOf(certificate) } : {};
  if (isFrom(certificate, clients)) return { address, certificate: subject, ...frontProxy };
  return { address, certificateFault: "it is not from the authority of clients", ...frontProxy };
}

const proxyOf = (certificate: X509Certificate): NonNullable<Peer["frontProxy"]> => ({
  commonName: readSubject(certificate).commonName,
  notAfterMs: notAfterMs(certificate),
});

const maxChain = 8;

/** Whether one of the authorities has signed the certificate, or one of those that vouch for it. */
function isFrom(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  let link: X509Certificate | undefined = certificate;
  for (let depth = 0; link && depth < maxChain; depth++) {
    const signed: X509Certificate = link;
    if (authorities.some((authority) => signed.checkIssued(authority) && signed.verify(authority.publicKey)))
      return true;
    link = signed.issuerCertificate;
  }
  return false;
}
