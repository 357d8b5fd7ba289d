import { ObjectFieldSelector, ResourceFieldSelector } from "#api/core/container/env.ts";
import { defaultPullPolicy, type PullPolicy } from "#api/core/container/image-name.ts";
import { LabelSelector } from "#api/meta/label-selector.ts";
import { defaulted, inline, nullable, optional, present, required, stated, unstated, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, int64, map, oneOf, quantity, string } from "#schema/types.ts";
import { LocalObjectReference } from "../references.ts";
import { PersistentVolumeClaimTemplate } from "./volume-claim-spec.ts";
import { remoteSources } from "./volume-sources.ts";

const object = inPackage("core/v1");

const filePath = (tag: number) =>
  required(tag, string(), "Path of the file in the volume. Must be relative and cannot contain `..`.");
const fileMode = (tag: number) => nullable(tag, int32(), "Permission bits of the file; those of the volume if absent.");
const defaultMode = (tag: number) => defaulted(tag, int32(), 0o644, "Permission bits of files that set none.");

export const KeyToPath = object("KeyToPath", "A key that becomes a file.", {
  key: required(1, string(), "Key that holds the content of the file."),
  path: filePath(2),
  mode: fileMode(3),
});
export interface KeyToPath extends Infer<typeof KeyToPath> {}

const items = optional(2, atomicList(KeyToPath), "Keys that become files; all of them if empty.");
const secretFields = { items, optional: nullable(4, boolean(), "Whether the Secret or its keys may be missing.") };
const configMapFields = {
  items,
  optional: nullable(4, boolean(), "Whether the ConfigMap or its keys may be missing."),
};
const configMapName = inline(1, { name: stated(optional(1, string(), "Name of the ConfigMap."), "") });

export const DownwardAPIVolumeFile = object("DownwardAPIVolumeFile", "A file with a fact about the pod.", {
  path: filePath(1),
  fieldRef: nullable(2, ObjectFieldSelector, "Field of the pod that becomes the file. Excludes resourceFieldRef."),
  resourceFieldRef: nullable(3, ResourceFieldSelector, "Request or limit that becomes the file. Excludes fieldRef."),
  mode: fileMode(4),
});
export interface DownwardAPIVolumeFile extends Infer<typeof DownwardAPIVolumeFile> {}
const downwardFiles = optional(1, atomicList(DownwardAPIVolumeFile), "Files with facts about the pod.");

export const ServiceAccountTokenProjection = object("ServiceAccountTokenProjection", "A service account token.", {
  audience: optional(1, string(), "Audience of the token; the API server if empty."),
  expirationSeconds: defaulted(2, int64(), 3600, "Seconds for which a token is valid, at least 600."),
  path: filePath(3),
});
export interface ServiceAccountTokenProjection extends Infer<typeof ServiceAccountTokenProjection> {}

export const ClusterTrustBundleProjection = object("ClusterTrustBundleProjection", "Trust anchors of the cluster.", {
  name: nullable(1, string(), "Name of one ClusterTrustBundle. Excludes signerName."),
  signerName: nullable(2, string(), "Signer whose ClusterTrustBundles are combined. Excludes name."),
  labelSelector: nullable(3, LabelSelector, "Selects bundles of the signer by label. Without it none is selected."),
  optional: nullable(5, boolean(), "Whether the bundles may be missing."),
  path: filePath(4),
});
export interface ClusterTrustBundleProjection extends Infer<typeof ClusterTrustBundleProjection> {}

export const PodCertificateProjection = object(
  "PodCertificateProjection",
  "A private key and certificate for the pod.",
  {
    signerName: unstated(required(1, string(), "Signer that issues the certificate.")),
    keyType: unstated(
      present(2, string(), "Type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519."),
    ),
    maxExpirationSeconds: nullable(3, int32(), "Maximum lifetime of the certificate in seconds."),
    credentialBundlePath: optional(4, string(), "Path of the file for the key and the certificate chain together."),
    keyPath: optional(5, string(), "Path of the file for the key."),
    certificateChainPath: optional(6, string(), "Path of the file for the certificate chain."),
    userAnnotations: optional(7, map(string()), "Further facts for the signer, by qualified name."),
  },
);
export interface PodCertificateProjection extends Infer<typeof PodCertificateProjection> {}

export const VolumeProjection = object("VolumeProjection", "A source of a projected volume. One field is set.", {
  secret: object.nullable(1, "SecretProjection", "Keys of a Secret as files.", {
    ...inline(1, { name: stated(optional(1, string(), "Name of the Secret."), "") }),
    ...secretFields,
  }),
  downwardAPI: object.nullable(2, "DownwardAPIProjection", "Facts about the pod as files.", { items: downwardFiles }),
  configMap: object.nullable(3, "ConfigMapProjection", "Keys of a ConfigMap as files.", {
    ...configMapName,
    ...configMapFields,
  }),
  serviceAccountToken: nullable(4, ServiceAccountTokenProjection, "Token of the pod's service account as a file."),
  clusterTrustBundle: nullable(5, ClusterTrustBundleProjection, "Trust anchors of the cluster as a file."),
  podCertificate: nullable(6, PodCertificateProjection, "Private key and certificate for the pod as files."),
});
export interface VolumeProjection extends Infer<typeof VolumeProjection> {}

export const ProjectedVolumeSource = object("ProjectedVolumeSource", "Files from several sources in one directory.", {
  sources: written(optional(1, atomicList(VolumeProjection), "Sources of the files.")),
  defaultMode: defaultMode(2),
});
export interface ProjectedVolumeSource extends Infer<typeof ProjectedVolumeSource> {}

const pathTypes = [
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
] as const;

/** Pods have it, and so do persistent volumes. */
export const hostPathSource = object.nullable(1, "HostPathVolumeSource", "A file or directory of the node.", {
  path: required(1, string(), "Path on the node."),
  type: defaulted(2, oneOf("", ...pathTypes), "", "What must exist at the path, or is created; empty for no check."),
});

const volumeSourceFields = {
  hostPath: hostPathSource,
  emptyDir: object.nullable(2, "EmptyDirVolumeSource", "An empty directory that exists as long as the pod.", {
    medium: optional(1, string(), "Where the files are: empty for the disk of the node, Memory or HugePages."),
    sizeLimit: nullable(2, quantity(), "Maximum size of the volume; no limit if absent."),
  }),
  gitRepo: object.nullable(5, "GitRepoVolumeSource", "Deprecated: a git repository.", {
    repository: required(1, string(), "URL of the repository."),
    revision: optional(2, string(), "Commit to check out; the default branch if empty."),
    directory: optional(3, string(), "Directory in the volume for the repository; one named after it if empty."),
  }),
  secret: object.nullable(6, "SecretVolumeSource", "Keys of a Secret as files.", {
    secretName: optional(1, string(), "Name of the Secret."),
    items,
    defaultMode: defaultMode(3),
    optional: secretFields.optional,
  }),
  persistentVolumeClaim: object.nullable(10, "PersistentVolumeClaimVolumeSource", "The volume of a claim.", {
    claimName: required(1, string(), "Name of the claim in the namespace of the pod."),
    readOnly: optional(2, boolean(), "Whether the volume is mounted read-only."),
  }),
  downwardAPI: object.nullable(16, "DownwardAPIVolumeSource", "Facts about the pod as files.", {
    items: downwardFiles,
    defaultMode: defaultMode(2),
  }),
  configMap: object.nullable(19, "ConfigMapVolumeSource", "Keys of a ConfigMap as files.", {
    ...configMapName,
    items,
    defaultMode: defaultMode(3),
    optional: configMapFields.optional,
  }),
  projected: nullable(26, ProjectedVolumeSource),
  csi: object.nullable(28, "CSIVolumeSource", "A volume that a CSI driver creates for the pod.", {
    driver: required(1, string(), "Name of the CSI driver."),
    readOnly: nullable(2, boolean(), "Whether the volume is mounted read-only."),
    fsType: nullable(3, string(), "File system of the volume, such as ext4; that of the driver if absent."),
    volumeAttributes: optional(4, map(string()), "Settings for the driver, by name."),
    nodePublishSecretRef: nullable(5, LocalObjectReference, "Secret with sensitive settings for the driver."),
  }),
  ephemeral: object.nullable(29, "EphemeralVolumeSource", "A claim that is created for the pod and deleted with it.", {
    volumeClaimTemplate: nullable(1, PersistentVolumeClaimTemplate, "Template of the claim <pod>-<volume>."),
  }),
  image: object.nullable(30, "ImageVolumeSource", "The files of a container image, read-only.", {
    reference: optional(1, string(), "Name of the image."),
    pullPolicy: optional(2, oneOf("Always", "IfNotPresent", "Never"), "When the image is pulled."),
  }),
};

export const Volume = object.filledBy(volumeDefaults, "Volume", "A volume of a pod. Exactly one source is set.", {
  name: present(1, string(), "Name of the volume, unique in the pod."),
  ...inline(2, { ...volumeSourceFields, ...remoteSources }),
});
export interface Volume extends Infer<typeof Volume> {}

export type VolumeSource = Omit<Volume, "name">;
export type EmptyDirVolumeSource = NonNullable<VolumeSource["emptyDir"]>;
export type HostPathVolumeSource = NonNullable<VolumeSource["hostPath"]>;
export type NFSVolumeSource = NonNullable<VolumeSource["nfs"]>;

function volumeDefaults(volume: { emptyDir?: object; image?: { reference?: string; pullPolicy?: PullPolicy } }): void {
  if (!Object.keys(volume).some((key) => key !== "name")) volume.emptyDir = {};
  if (volume.image) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? "");
}
