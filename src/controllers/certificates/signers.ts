import { type CertificateSigningRequestSpec as Spec } from "#api/certificates/certificate-signing-request.ts";
import { nodeServicesGroup } from "#api/well-known.ts";
import { type RequestedCertificate } from "#lib/crypto/certificate-request.ts";

const commonNameId = "2.5.4.3";
const organizationId = "2.5.4.10";
export const kubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
export const servingSigner = "kubernetes.io/kubelet-serving";
export const clientSigner = "kubernetes.io/kube-apiserver-client";

type Usages = NonNullable<Spec["usages"]>;
/** Why a signer does not sign a request, in upstream's words. */
type Rule = (requested: RequestedCertificate, usages: Usages) => string | undefined;

/** The signers that the cluster's authority signs for, and what each of them demands. */
const signers: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [clientSigner, (_, usages) => clientFault(usages)],
  [kubeletClientSigner, kubeletClientFault],
  [servingSigner, kubeletServingFault],
  // It demands nothing: requests to it are as old as the beta of the API, and nobody can make new ones.
  ["kubernetes.io/legacy-unknown", () => undefined],
]);

export const isOurs = (signerName: string): boolean => signers.has(signerName);

/** Why the signer refuses the request; undefined if it signs. */
export const signerFault = (signerName: string, requested: RequestedCertificate, usages: Usages): string | undefined =>
  signers.get(signerName)?.(requested, usages);

/** The last one counts, as wherever certificates are read. */
export const commonNameOf = ({ subject }: RequestedCertificate): string =>
  subject.findLast(({ id }) => id === commonNameId)?.text ?? "";

function clientFault(usages: Usages): string | undefined {
  const optional = ["digital signature", "key encipherment"];
  const wrong = usages.find((usage) => usage !== "client auth" && !optional.includes(usage));
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`;
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth";
}

/** The certificate by which a kubelet is known to the API server. */
export function kubeletClientFault(requested: RequestedCertificate, usages: Usages): string | undefined {
  const { dnsNames, emails, addresses, uris } = requested.names;
  if (!isForNodes(requested)) return notNodes;
  if (dnsNames.length > 0) return "DNS subjectAltNames are not allowed";
  if (emails.length > 0) return noEmails;
  if (addresses.length > 0) return "IP subjectAltNames are not allowed";
  if (uris.length > 0) return noUris;
  return nodeNameFault(requested) ?? usagesFault(usages, "client auth");
}

/** The certificate by which the services of a node are known. Only the node itself may ask for it. */
export function nodeServicesFault(
  requested: RequestedCertificate,
  usages: Usages,
  username: string,
): string | undefined {
  const { dnsNames, emails, addresses, uris } = requested.names;
  const names = dnsNames.length + emails.length + addresses.length + uris.length;
  const organizations = requested.subject.filter(({ id }) => id === organizationId);
  const node = username.startsWith("system:node:") ? username.slice("system:node:".length) : "";
  if (node === "") return "only nodes have such services";
  if (names > 0) return "subjectAltNames are not allowed";
  if (organizations.length !== 1 || organizations[0]?.text !== nodeServicesGroup) {
    return `subject organization is not ${nodeServicesGroup}`;
  }
  if (commonNameOf(requested) !== `${nodeServicesGroup}:${node}`) return "subject common name is not the node's own";
  return usagesFault(usages, "client auth");
}

/** The certificate of a kubelet's own server. */
function kubeletServingFault(requested: RequestedCertificate, usages: Usages): string | undefined {
  const { dnsNames, emails, addresses, uris } = requested.names;
  if (!isForNodes(requested)) return notNodes;
  if (dnsNames.length === 0 && addresses.length === 0) return "DNS or IP subjectAltName is required";
  if (emails.length > 0) return noEmails;
  if (uris.length > 0) return noUris;
  return usagesFault(usages, "server auth") ?? nodeNameFault(requested);
}

const notNodes = "subject organization is not system:nodes";
const noEmails = "Email subjectAltNames are not allowed";
const noUris = "URI subjectAltNames are not allowed";

function isForNodes({ subject }: RequestedCertificate): boolean {
  const organizations = subject.filter(({ id }) => id === organizationId);
  return organizations.length === 1 && organizations[0]?.text === "system:nodes";
}

const nodeNameFault = (requested: RequestedCertificate): string | undefined =>
  commonNameOf(requested).startsWith("system:node:")
    ? undefined
    : "subject common name does not begin with system:node:";

/** Keys other than RSA cannot encipher keys, so that usage may be absent. */
function usagesFault(usages: Usages, auth: "client auth" | "server auth"): string | undefined {
  const asked = new Set(usages);
  const wanted = ["digital signature", auth];
  const isWanted = wanted.every((usage) => asked.has(usage));
  const extra = asked.size - wanted.length;
  if (isWanted && (extra === 0 || (extra === 1 && asked.has("key encipherment")))) return undefined;
  return `usages did not match [${[...wanted, "key encipherment"].toSorted().join(" ")}]`;
}
