import { ageColumn, column } from "#api/meta/columns.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { equal } from "#lib/data/equal.ts";
import { defaulted, inGo, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, oneOf, setOf, string, unlisted } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, type Column, defineResource } from "../resource.ts";

const object = inPackage("storage/v1");

const TokenRequest = object("TokenRequest", "A service account token that a CSI driver gets for each pod.", {
  audience: present(1, string(), "Audience of the token; that of the API server if empty."),
  expirationSeconds: nullable(2, int64(), "Seconds for which the token is valid, at least 600."),
});
interface TokenRequest extends Infer<typeof TokenRequest> {}

const policies = unlisted(oneOf("File", "None", "ReadWriteOnceWithFSType"));
const modes = setOf(string());

const CSIDriverSpec = object("CSIDriverSpec", "What a CSI driver can do and what it needs.", {
  attachRequired: defaulted(1, boolean(), true, "Whether volumes must be attached to a node. Cannot be changed."),
  podInfoOnMount: defaulted(2, boolean(), false, "Whether the driver is told which pod a volume is mounted for."),
  volumeLifecycleModes: defaulted(3, modes, ["Persistent"], "Persistent, Ephemeral or both. Cannot be changed."),
  storageCapacity: defaulted(4, boolean(), false, "Whether pods wait until the driver has reported enough capacity."),
  fsGroupPolicy: inGo(
    { isPointer: true },
    defaulted(5, policies, "ReadWriteOnceWithFSType", "When files in volumes get the group of the pod."),
  ),
  tokenRequests: optional(6, atomicList(TokenRequest), "Service account tokens of the pod that the driver gets."),
  requiresRepublish: defaulted(7, boolean(), false, "Whether volumes are mounted again regularly, for new content."),
  seLinuxMount: defaulted(8, boolean(), false, "Whether the driver supports mounting with an SELinux label."),
  nodeAllocatableUpdatePeriodSeconds: nullable(9, int64(), "Seconds between updates of the volume limits of nodes."),
  serviceAccountTokenInSecrets: nullable(10, boolean(), "Whether the driver gets tokens as secrets, not attributes."),
  preventPodSchedulingIfMissing: nullable(11, boolean(), "Alpha, dropped: whether pods avoid nodes without it."),
});
interface CSIDriverSpec extends Infer<typeof CSIDriverSpec> {}

const fields = { spec: present(2, CSIDriverSpec) };
export interface CSIDriver extends ClusterObject<typeof fields> {}

type Settings = { readonly spec: CSIDriverSpec };
const flag = (name: string, description: string, value: (spec: CSIDriverSpec) => boolean): Column<Settings> => ({
  ...column(name, description, ({ spec }) => value(spec)),
  type: "boolean",
});

export const CSIDriver = defineResource("storage.k8s.io/v1.CSIDriver", fields, {
  doc: "Describes a CSI driver of the cluster. Its name is that of the driver.",
  scope: "Cluster",
  conditionalUpdate: true,
  returnsDeleted: true,
  columns: [
    flag("AttachRequired", "Whether volumes must be attached.", ({ attachRequired }) => attachRequired),
    flag("PodInfoOnMount", "Whether the driver is told the pod.", ({ podInfoOnMount }) => podInfoOnMount),
    flag("StorageCapacity", "Whether its capacity counts.", ({ storageCapacity }) => storageCapacity),
    column("TokenRequests", "Audiences of the tokens that the driver gets.", ({ spec: { tokenRequests } }) =>
      tokenRequests ? tokenRequests.map(({ audience }) => audience).join(",") : "<unset>",
    ),
    flag("RequiresRepublish", "Whether volumes are mounted again.", ({ requiresRepublish }) => requiresRepublish),
    column("Modes", "Types of volumes.", ({ spec }) => spec.volumeLifecycleModes.join(",") || "<none>"),
    ageColumn,
  ],

  prepareForCreate: ({ spec }) => void delete spec.preventPodSchedulingIfMissing,
  prepareForUpdate({ metadata, spec }, old) {
    if (old.spec.preventPodSchedulingIfMissing === undefined) delete spec.preventPodSchedulingIfMissing;
    // A new driver has no generation: upstream counts only changes.
    if (!semanticEqual(CSIDriverSpec, spec, old.spec)) metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  validate: (driver) => validateSpec(driver.field("spec")),
  validateUpdate(driver, { spec: old }) {
    const at = driver.field("spec");
    const { attachRequired } = at.value;
    at.under("attachedRequired").as(attachRequired).immutable(boolean(), old.attachRequired);
    at.field("volumeLifecycleModes").immutable(modes, old.volumeLifecycleModes);
  },
  warnings(driver, old) {
    const { tokenRequests = [], serviceAccountTokenInSecrets } = driver.value.spec;
    if (tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return;
    if (old && equal(tokenRequests, old.spec.tokenRequests ?? [])) return;
    driver.note(
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
    );
  },
});

function validateSpec(at: Cursor<CSIDriverSpec>): void {
  const { volumeLifecycleModes, nodeAllocatableUpdatePeriodSeconds: period, tokenRequests = [] } = at.value;
  const audiences = new Set<string>();
  at.each("tokenRequests", (at) => validateTokenRequest(at, audiences));
  for (const mode of volumeLifecycleModes) {
    if (mode === "Persistent" || mode === "Ephemeral") continue;
    at.field("volumeLifecycleModes").unsupported(["Persistent", "Ephemeral"], mode);
  }
  if (period !== undefined && period < 10) {
    at.field("nodeAllocatableUpdatePeriodSeconds").invalid("must be greater than or equal to 10 seconds");
  }
  at.on("serviceAccountTokenInSecrets", (at) => {
    if (tokenRequests.length > 0) return;
    at.invalid("serviceAccountTokenInSecrets is set but no tokenRequests are specified");
  });
}

function validateTokenRequest(at: Cursor<TokenRequest>, audiences: Set<string>): void {
  const { audience } = at.value;
  const isRepeated = audiences.has(audience);
  at.field("audience").unique(audiences);
  if (isRepeated) return;
  at.on("expirationSeconds", (at) => {
    if (at.value < 600) at.invalid("may not specify a duration less than 10 minutes");
    if (at.value > 2 ** 32) at.invalid("may not specify a duration larger than 2^32 seconds");
  });
}
