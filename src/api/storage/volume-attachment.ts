import { PersistentVolumeSpec } from "#api/core/persistent-volume/persistent-volume-spec.ts";
import { validateInlineVolumeSpec } from "#api/core/persistent-volume/validate-persistent-volume.ts";
import { validateCsiDriver } from "#api/core/pod/validate/volumes/validate-volume-sources.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { dns1123Subdomain, inclusiveRange } from "#api/meta/names.ts";
import { immutable, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int32, map, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("storage/v1");

const VolumeAttachmentSource = object("VolumeAttachmentSource", "The volume that is attached. One field is set.", {
  persistentVolumeName: nullable(1, string(), "Name of the PersistentVolume that is attached."),
  inlineVolumeSpec: nullable(2, PersistentVolumeSpec, "Volume that is attached, if it has no PersistentVolume."),
});
interface VolumeAttachmentSource extends Infer<typeof VolumeAttachmentSource> {}

const VolumeError = object("VolumeError", "Why attaching or detaching a volume failed.", {
  time: optional(1, time(), "When the error happened."),
  message: optional(2, string(), "What went wrong, for people."),
  errorCode: nullable(3, int32(), "Code of the error as in gRPC, such as 8 if the node has too many volumes."),
});
interface VolumeError extends Infer<typeof VolumeError> {}

const fields = {
  spec: immutable(
    object.present(2, "VolumeAttachmentSpec", "What is attached, where and by whom. Cannot be changed.", {
      attacher: required(1, string(), "Name of the CSI driver that attaches the volume."),
      source: present(2, VolumeAttachmentSource),
      nodeName: present(3, string(), "Node that the volume is attached to."),
    }),
  ),
  status: object.embedded(3, "VolumeAttachmentStatus", "Whether the volume is attached.", {
    attached: present(1, boolean(), "Whether the volume is attached."),
    attachmentMetadata: optional(2, map(string()), "What the driver needs on the node to mount the volume, by name."),
    attachError: nullable(3, VolumeError, "Last error while the volume was attached, if there was one."),
    detachError: nullable(4, VolumeError, "Last error while the volume was detached, if there was one."),
  }),
};
type SentAttachment = ObjectOf<typeof fields>;
export interface VolumeAttachment extends ClusterObject<typeof fields> {}

export const VolumeAttachment = defineResource("storage.k8s.io/v1.VolumeAttachment", fields, {
  doc: "Asks a CSI driver to attach a volume to a node, and says whether it has.",
  scope: "Cluster",
  conditionalUpdate: true,
  returnsDeleted: true,
  withStatus: () => ({ attached: false }),
  statusResets: { spec: true, metadata: true },
  columns: [
    { ...column("Attacher", "CSI driver of the volume.", ({ spec }) => spec.attacher), format: "name" },
    column("PV", "PersistentVolume that is attached.", ({ spec }) => spec.source.persistentVolumeName ?? ""),
    column("Node", "Node that the volume is attached to.", ({ spec }) => spec.nodeName),
    { ...column("Attached", "Whether it is attached.", ({ status }) => status.attached), type: "boolean" },
    ageColumn,
  ],
  indexes: {
    node: ({ spec }) => [spec.nodeName],
    volume: ({ spec: { source } }) => (source.persistentVolumeName ? [source.persistentVolumeName] : []),
  },

  prepareForStatusUpdate({ metadata }, { metadata: old }) {
    for (const name of ["labels", "annotations", "finalizers", "ownerReferences"] as const) {
      if (old[name] === undefined) delete metadata[name];
      else Object.assign(metadata, { [name]: old[name] });
    }
  },
  validate: validateAttachment,
  validateStatusUpdate: validateAttachment,
});

function validateAttachment(attachment: Cursor<SentAttachment>): void {
  const at = attachment.field("spec");
  const status = attachment.field("status");
  validateCsiDriver(at.field("attacher"));
  validateSource(at.field("source"));
  at.field("nodeName").rule(dns1123Subdomain);
  validateMetadata(status.field("attachmentMetadata"));
  status.on("attachError", validateError);
  status.on("detachError", validateError);
  at.field("source").on("persistentVolumeName", (at) => at.rule(dns1123Subdomain));
}

function validateSource(at: Cursor<VolumeAttachmentSource>): void {
  const { persistentVolumeName: name, inlineVolumeSpec: spec } = at.value;
  const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (spec && name !== undefined) at.forbidden(detail);
  else if (spec) validateInlineVolumeSpec(at.field("inlineVolumeSpec").as(spec));
  else if (name === undefined) at.missing(detail);
  else at.field("persistentVolumeName").required("must specify non empty persistentVolumeName");
}

const maxMetadataBytes = 256 * 1024;
const maxMessageBytes = 1024;

function validateMetadata(at: Cursor<Readonly<Record<string, string>> | undefined>): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(at.value ?? {})) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (bytes > maxMetadataBytes) at.tooLong(maxMetadataBytes);
}

function validateError(at: Cursor<VolumeError>): void {
  const { message = "", errorCode = 0 } = at.value;
  // Upstream names the wrong limit.
  if (Buffer.byteLength(message) > maxMessageBytes) at.field("message").tooLong(maxMetadataBytes);
  if (errorCode < 0) at.field("errorCode").invalid(inclusiveRange(0, 2 ** 31 - 1));
}
