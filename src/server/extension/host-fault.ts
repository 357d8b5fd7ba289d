import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";

/** The certificate of a server is not for the host that was called. */
export class HostFault extends Error {
  override readonly name = "HostFault";
}

/** A server may show thousands of names. */
const maxNames = 100;
const maxNameChars = 253;

/**
 * Whether a certificate is for a host, and why not, in upstream's words. A name that only the subject has does not count, as
 * upstream: it is Node that would accept it.
 */
export function hostFault(host: string, certificate: PeerCertificate): HostFault | undefined {
  const { subjectaltname: names = "" } = certificate;
  if (!checkServerIdentity(host, { ...certificate, subject: nobody })) return undefined;
  const isLegacy = names === "" && isIP(host) === 0 && !checkServerIdentity(host, certificate);
  return new HostFault(
    isLegacy ? "certificate relies on legacy Common Name field, use SANs instead" : describe(host, names),
  );
}

const nobody = { C: "", ST: "", L: "", O: "", OU: "", CN: "" };

function describe(host: string, alternativeNames: string): string {
  const isAddress = isIP(host) !== 0;
  const names = namesIn(alternativeNames, isAddress ? "IP Address" : "DNS");
  if (isAddress && names.length === 0)
    return `cannot validate certificate for ${host} because it doesn't contain any IP SANs`;
  if (names.length >= maxNames)
    return `certificate is valid for ${names.length} ${isAddress ? "IP SANs" : "names"}, but none matched ${host}`;
  if (names.length === 0) return `certificate is not valid for any names, but wanted to match ${host}`;
  return `certificate is valid for ${names.join(", ")}, not ${host}`;
}

/** Node shows them as `DNS:a.b, IP Address:1.2.3.4`, and in quotes if they have characters that could be mistaken. */
function namesIn(alternativeNames: string, kind: string): string[] {
  const found = alternativeNames.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)/g);
  return [...found].filter(([, type]) => type === kind).map(([, , name = ""]) => name.slice(0, maxNameChars));
}
