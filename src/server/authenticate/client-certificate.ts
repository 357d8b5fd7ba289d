import { type Peer, type UserInfo } from "#api/exchange.ts";
import { unauthorized } from "#api/status.ts";
import { type Authenticator } from "./authenticator.ts";

/** The common name is the user, the organizations are the groups. TLS has already verified the certificate. */
export const clientCertificate: Authenticator = {
  name: "client-certificate",
  authenticate({ peer }) {
    if (peer.certificateFault) throw unauthorized();
    return peer.certificate && userOf(peer.certificate);
  },
};

const credentialIdKey = "authentication.kubernetes.io/credential-id";

/** One identity per connection, however many requests it carries: later stages use it as a cache key. */
const users = new WeakMap<object, UserInfo>();

function userOf(certificate: NonNullable<Peer["certificate"]>): UserInfo | undefined {
  const known = users.get(certificate);
  if (known) return known;
  if (!certificate.commonName) throw unauthorized();
  const { commonName, organizations, fingerprint } = certificate;
  // Tells in audit events and signing requests which of a user's certificates was shown.
  const extra = fingerprint && { extra: { [credentialIdKey]: [`X509SHA256=${fingerprint}`] } };
  const user = { name: commonName, groups: organizations, ...(extra || {}) };
  users.set(certificate, user);
  return user;
}
