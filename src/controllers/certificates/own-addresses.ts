import { type Node } from "#api/core/node.ts";
import { type RequestedCertificate } from "#lib/crypto/certificate-request.ts";
import { altName } from "#lib/crypto/x509.ts";

/** Who is at which address of the cluster. */
export interface Places {
  readonly nodes: readonly Pick<Node, "metadata" | "status">[];
  /** Where clients find the API server. */
  readonly serverAddresses: readonly string[];
}

/**
 * Whether a request for a server's certificate names only addresses that its node has reported, and that no older node has
 * reported. A younger node does not count: it could report the address of another to block that node's certificate. DNS names are
 * left to an administrator, because a machine chooses its name: one called `kubernetes.default.svc` could serve as the API server.
 */
export function servesOwnAddresses({ names }: RequestedCertificate, username: string, places: Places): boolean {
  const { dnsNames, addresses } = names;
  if (dnsNames.length > 0 || addresses.length === 0) return false;
  const own = places.nodes.find(({ metadata }) => username === `system:node:${metadata.name}`);
  const others = places.nodes.filter((node) => node !== own && (!own || ageOf(node) < ageOf(own)));
  const named = (nodes: Places["nodes"]) => new Set(nodes.flatMap(addressesOf).flatMap(encoded));
  const [reported, taken] = [named(own ? [own] : []), named(others)];
  for (const address of places.serverAddresses.flatMap(encoded)) taken.add(address);
  return addresses.every((bytes) => {
    const address = bytes.toString("hex");
    return reported.has(address) && !taken.has(address) && !isLoopback(bytes) && !holdsIPv4(bytes);
  });
}

const ageOf = ({ metadata: { creationTimestamp = "9999", name } }: Places["nodes"][number]): string =>
  `${creationTimestamp} ${name}`;

const addressesOf = ({ status }: Places["nodes"][number]): string[] =>
  (status.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address);

/** A GeneralName as text, for comparison; nothing for what is no address. */
function encoded(address: string): string[] {
  return /^[0-9a-f.:]+$/i.test(address) ? [altName(address).toString("hex")] : [];
}

const loopback = new Set([altName("::1").toString("hex")]);
/** Of a whole GeneralName: tag, length, bytes. */
const isLoopback = (name: Buffer): boolean =>
  (name.length === 6 && name[2] === 127) || loopback.has(name.toString("hex"));

const mappedPrefix = altName("::ffff:0.0.0.0").subarray(0, -4);
/** Many clients take `::ffff:10.0.0.1` for 10.0.0.1, which may be somebody else's address. */
const holdsIPv4 = (name: Buffer): boolean => name.length === 18 && name.subarray(0, -4).equals(mappedPrefix);
