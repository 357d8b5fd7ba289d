import { humanDuration } from "#api/meta/age.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { pathSegmentName } from "#api/meta/names.ts";
import { type ClusterObject, change, defineResource, type PartialUpdate } from "#api/resource.ts";
import { embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, bytes, int32, known, list, map, string, time } from "#schema/types.ts";
import { prepareApproval, prepareSigning, setRequester } from "./prepare-signing-request.ts";
import { certificateUsages } from "./usages.ts";
import { validateConditions, validateKept, validateSigning, validateSpec } from "./validate-signing-request.ts";

const object = inPackage("certificates/v1");

const CertificateSigningRequestSpec = object(
  "CertificateSigningRequestSpec",
  "Which certificate is requested, by whom.",
  {
    request: present(1, bytes(), "Request for the certificate: PKCS #10 in PEM, signed by the key that it is for."),
    signerName: present(
      7,
      string(),
      "Signer that should issue the certificate, such as kubernetes.io/kubelet-serving.",
    ),
    expirationSeconds: nullable(
      8,
      int32(),
      "Seconds that the certificate should be valid, at least 600. A signer may differ.",
    ),
    usages: optional(
      5,
      atomicList(known(...certificateUsages)),
      "What the certificate may be used for, such as client auth; at least one.",
    ),
    username: optional(2, string(), "Name of the user who made the request. The server sets it."),
    uid: optional(3, string(), "UID of the user who made the request. The server sets it."),
    groups: optional(4, atomicList(string()), "Groups of the user who made the request. The server sets them."),
    extra: optional(6, map(list(string())), "Further facts about the user who made the request. The server sets them."),
  },
);
export interface CertificateSigningRequestSpec extends Infer<typeof CertificateSigningRequestSpec> {}

const CertificateSigningRequestCondition = object("CertificateSigningRequestCondition", "A decision about a request.", {
  type: present(1, string(), "Type of the condition: Approved, Denied, Failed, or one of the signer's own."),
  status: present(
    6,
    string(),
    "Status of the condition: True for Approved, Denied and Failed; else also False or Unknown.",
  ),
  reason: optional(2, string(), "Reason for the condition, as one CamelCase word."),
  message: optional(3, string(), "Details about the condition, for people."),
  lastUpdateTime: optional(4, time(), "When the condition was last updated. The server sets it if it is absent."),
  lastTransitionTime: optional(
    5,
    time(),
    "When the status of the condition last changed. The server sets it if absent.",
  ),
});
export interface CertificateSigningRequestCondition extends Infer<typeof CertificateSigningRequestCondition> {}

const conditions = list(CertificateSigningRequestCondition, { list: "map", keys: ["type"] });
const CertificateSigningRequestStatus = object("CertificateSigningRequestStatus", "What became of a request.", {
  conditions: optional(1, conditions, "Decisions about the request, one for each type."),
  certificate: optional(2, bytes(), "Issued certificate in PEM, with its chain if there is one. Cannot be changed."),
});
export interface CertificateSigningRequestStatus extends Infer<typeof CertificateSigningRequestStatus> {}

const fields = {
  spec: present(2, CertificateSigningRequestSpec),
  status: embedded(3, CertificateSigningRequestStatus),
};
export interface CertificateSigningRequest extends ClusterObject<typeof fields> {}

/** What the rules of the kind are called with. */
export type SigningRequest = Pick<CertificateSigningRequest, "spec" | "status">;

const approval: PartialUpdate<CertificateSigningRequest> = { prepare: prepareApproval, validate: validateKept };

export const CertificateSigningRequest = defineResource("certificates.k8s.io/v1.CertificateSigningRequest", fields, {
  doc: "Asks a signer for a certificate. Somebody who may approve it decides, and then the signer issues it.",
  shortNames: ["csr"],
  scope: "Cluster",
  nameRule: pathSegmentName,
  withStatus: () => ({}),
  resets: { spec: true },
  statusResets: { spec: true, status: { conditions: true } },
  subresources: [
    {
      name: "approval",
      verbs: change,
      resets: { spec: true, status: { certificate: true } },
      update: approval as PartialUpdate,
    },
  ],
  columns: [
    ageColumn,
    column("SignerName", "Signer that should issue the certificate.", ({ spec }) => spec.signerName || "<none>"),
    column("Requestor", "User who made the request.", ({ spec }) => spec.username ?? ""),
    column("RequestedDuration", "How long the certificate should be valid.", ({ spec: { expirationSeconds } }) =>
      expirationSeconds === undefined ? "<none>" : humanDuration(expirationSeconds * 1000),
    ),
    column("Condition", "What became of the request.", describeStatus),
  ],
  selectableFields: { "spec.signerName": ({ spec }) => spec.signerName },

  prepareForCreate: setRequester,
  // Nobody can change a request once somebody may have looked at it.
  prepareForUpdate(request, old) {
    request.spec = old.spec;
  },
  prepareForStatusUpdate: prepareSigning,
  validate: validateConditions,
  validateCreate: validateSpec,
  validateStatusUpdate: validateSigning,
});

function describeStatus({ status }: SigningRequest): string {
  const types = new Set(status.conditions?.map(({ type }) => type));
  const decision = types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending";
  return `${decision}${types.has("Failed") ? ",Failed" : ""}${status.certificate ? ",Issued" : ""}`;
}
