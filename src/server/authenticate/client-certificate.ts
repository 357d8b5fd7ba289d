import { type Peer, type UserInfo } from "#api/exchange.ts";
import { unauthorized } from "#api/status.ts";
import { type Authenticator } from "./authenticator.ts";

/** The common name is the user, the organizations are the groups. TLS has verified the certificate already. */
export const clientCertificate: Authenticator = {
  name: "client-certificate",
  authenticate({ peer }) {
    if (peer.certificateFault) throw unauthorized();
    return peer.certificate && userOf(peer.certificate);
  },
};

/** One identity for a connection, however many requests come over it: later stages remember by identity. */
const users = new WeakMap<object, UserInfo>();

function userOf(certificate: NonNullable<Peer["certificate"]>): UserInfo | undefined {
  const known = users.get(certificate);
  if (known) return known;
  if (!certificate.commonName) throw unauthorized();
  const user = { name: certificate.commonName, groups: certificate.organizations };
  users.set(certificate, user);
  return user;
}
