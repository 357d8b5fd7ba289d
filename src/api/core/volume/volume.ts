import { ObjectFieldSelector, ResourceFieldSelector } from "#api/core/container/env.ts";
import { defaultPullPolicy, type PullPolicy } from "#api/core/container/image-name.ts";
import { LabelSelector } from "#api/meta/label-selector.ts";
import { defaulted, inGo, inline, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int32, int64, list, map, oneOf, quantity, string } from "#schema/types.ts";
import { LocalObjectReference } from "../references.ts";
import { PersistentVolumeClaimTemplate } from "./volume-claim-spec.ts";
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  AzureFileVolumeSource,
  CephFSVolumeSource,
  CinderVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  GitRepoVolumeSource,
  GlusterfsVolumeSource,
  ISCSIVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  RBDVolumeSource,
  ScaleIOVolumeSource,
  StorageOSVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from "./volume-sources.ts";

const object = inPackage("core/v1");

export const HostPathVolumeSource = object("HostPathVolumeSource", "A file or folder of the node.", {
  path: required(1, string(), "Path on the node."),
  type: defaulted(
    2,
    oneOf("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
    "",
    "What must be there, or is made; empty checks nothing.",
  ),
});
export interface HostPathVolumeSource extends Infer<typeof HostPathVolumeSource> {}

export const EmptyDirVolumeSource = object("EmptyDirVolumeSource", "An empty folder that lives as long as the pod.", {
  medium: optional(1, string(), "Where it is kept: the node's disk (empty), Memory or HugePages."),
  sizeLimit: nullable(2, quantity(), "The most it may hold; no limit by default."),
});
export interface EmptyDirVolumeSource extends Infer<typeof EmptyDirVolumeSource> {}

export const KeyToPath = object("KeyToPath", "One key as one file.", {
  key: required(1, string(), "The key to select."),
  path: required(2, string(), "Path of the file in the volume; relative, and without `..`."),
  mode: nullable(3, int32(), "Permission bits of the file, in place of the volume's."),
});
export interface KeyToPath extends Infer<typeof KeyToPath> {}

export const SecretVolumeSource = object("SecretVolumeSource", "The keys of a secret as files.", {
  secretName: optional(1, string(), "Name of the secret."),
  items: optional(2, list(KeyToPath), "The keys to show and where; all of them by default."),
  defaultMode: defaulted(3, int32(), 0o644, "Permission bits of the files."),
  optional: nullable(4, boolean(), "Whether the secret or its keys may be missing."),
});

export const ConfigMapVolumeSource = object("ConfigMapVolumeSource", "The keys of a config map as files.", {
  ...inline(1, { name: optional(1, string(), "Name of the config map.") }),
  items: optional(2, list(KeyToPath), "The keys to show and where; all of them by default."),
  defaultMode: defaulted(3, int32(), 0o644, "Permission bits of the files."),
  optional: nullable(4, boolean(), "Whether the config map or its keys may be missing."),
});

export const DownwardAPIVolumeFile = object("DownwardAPIVolumeFile", "A file that shows a fact about the pod.", {
  path: required(1, string(), "Path of the file in the volume; relative, and without `..`."),
  fieldRef: nullable(2, ObjectFieldSelector, "A field of the pod."),
  resourceFieldRef: nullable(3, ResourceFieldSelector, "A request or limit of a container."),
  mode: nullable(4, int32(), "Permission bits of the file, in place of the volume's."),
});
export interface DownwardAPIVolumeFile extends Infer<typeof DownwardAPIVolumeFile> {}

export const DownwardAPIVolumeSource = object("DownwardAPIVolumeSource", "Facts about the pod as files.", {
  items: optional(1, list(DownwardAPIVolumeFile), "The files in the volume."),
  defaultMode: defaulted(2, int32(), 0o644, "Permission bits of the files."),
});

export const SecretProjection = object("SecretProjection", "The keys of a secret, as a part of a volume.", {
  ...inline(1, { name: optional(1, string(), "Name of the secret.") }),
  items: optional(2, list(KeyToPath), "The keys to show and where; all of them by default."),
  optional: nullable(4, boolean(), "Whether the secret or its keys may be missing."),
});

export const ConfigMapProjection = object("ConfigMapProjection", "The keys of a config map, as a part of a volume.", {
  ...inline(1, { name: optional(1, string(), "Name of the config map.") }),
  items: optional(2, list(KeyToPath), "The keys to show and where; all of them by default."),
  optional: nullable(4, boolean(), "Whether the config map or its keys may be missing."),
});

export const DownwardAPIProjection = object("DownwardAPIProjection", "Facts about the pod, as a part of a volume.", {
  items: optional(1, list(DownwardAPIVolumeFile), "The files in the volume."),
});

export const ServiceAccountTokenProjection = object("ServiceAccountTokenProjection", "A service account token.", {
  audience: optional(1, string(), "For whom the token is; the API server by default."),
  expirationSeconds: defaulted(2, int64(), 3600, "Seconds for which a token is good; at least 600."),
  path: required(3, string(), "Path of the file in the volume."),
});
export interface ServiceAccountTokenProjection extends Infer<typeof ServiceAccountTokenProjection> {}

export const ClusterTrustBundleProjection = object("ClusterTrustBundleProjection", "A bundle of trust anchors.", {
  name: nullable(1, string(), "Name of one bundle."),
  signerName: nullable(2, string(), "Signer whose bundles are put together."),
  labelSelector: nullable(3, LabelSelector, "Which bundles of the signer."),
  optional: nullable(5, boolean(), "Whether the bundle may be missing."),
  path: required(4, string(), "Path of the file in the volume."),
});
export interface ClusterTrustBundleProjection extends Infer<typeof ClusterTrustBundleProjection> {}

export const PodCertificateProjection = object("PodCertificateProjection", "A certificate for the pod.", {
  signerName: required(1, string(), "Who signs it."),
  keyType: present(2, string(), "Type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519."),
  maxExpirationSeconds: nullable(3, int32(), "The longest life the certificate may have."),
  credentialBundlePath: optional(4, string(), "File for key and chain together."),
  keyPath: optional(5, string(), "File for the key."),
  certificateChainPath: optional(6, string(), "File for the chain."),
  userAnnotations: optional(7, map(string()), "Facts that are handed to the signer."),
});
export interface PodCertificateProjection extends Infer<typeof PodCertificateProjection> {}

export const VolumeProjection = object("VolumeProjection", "A source of a projected volume. One field is set.", {
  secret: nullable(1, SecretProjection, "Keys of a secret."),
  downwardAPI: nullable(2, DownwardAPIProjection, "Facts about the pod."),
  configMap: nullable(3, ConfigMapProjection, "Keys of a config map."),
  serviceAccountToken: nullable(4, ServiceAccountTokenProjection, "A token of the service account."),
  clusterTrustBundle: nullable(5, ClusterTrustBundleProjection, "Trust anchors of the cluster."),
  podCertificate: nullable(6, PodCertificateProjection, "A certificate for the pod."),
});
export interface VolumeProjection extends Infer<typeof VolumeProjection> {}

export const ProjectedVolumeSource = object("ProjectedVolumeSource", "Several sources in one folder.", {
  sources: inGo({ zero: "written" }, optional(1, list(VolumeProjection), "The sources of the volume.")),
  defaultMode: defaulted(2, int32(), 0o644, "Permission bits of the files."),
});
export interface ProjectedVolumeSource extends Infer<typeof ProjectedVolumeSource> {}

export const PersistentVolumeClaimVolumeSource = object("PersistentVolumeClaimVolumeSource", "Volume of a claim.", {
  claimName: required(1, string(), "Name of the claim, in the pod's namespace."),
  readOnly: optional(2, boolean(), "Whether it can only be read."),
});

export const EphemeralVolumeSource = object("EphemeralVolumeSource", "A volume that lives as long as the pod.", {
  volumeClaimTemplate: nullable(1, PersistentVolumeClaimTemplate, "The claim to make; it is called <pod>-<volume>."),
});

export const CSIVolumeSource = object("CSIVolumeSource", "A volume that a CSI driver makes for the pod.", {
  driver: required(1, string(), "Name of the driver."),
  readOnly: nullable(2, boolean(), "Whether it can only be read."),
  fsType: nullable(3, string(), "File system of the volume; the driver's choice by default."),
  volumeAttributes: optional(4, map(string()), "Settings for the driver."),
  nodePublishSecretRef: nullable(5, LocalObjectReference, "Secret that is handed to the driver."),
});

export const ImageVolumeSource = object("ImageVolumeSource", "The files of an image, to be read.", {
  reference: optional(1, string(), "The image."),
  pullPolicy: optional(2, oneOf("Always", "IfNotPresent", "Never"), "When the image is pulled."),
});

export const NFSVolumeSource = object("NFSVolumeSource", "A folder of an NFS server.", {
  server: required(1, string(), "Name or address of the server."),
  path: required(2, string(), "Path the server exports."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
});
export interface NFSVolumeSource extends Infer<typeof NFSVolumeSource> {}

const volumeSourceFields = {
  hostPath: nullable(1, HostPathVolumeSource, "A file or folder of the node."),
  emptyDir: nullable(2, EmptyDirVolumeSource, "An empty folder that lives as long as the pod."),
  gcePersistentDisk: nullable(3, GCEPersistentDiskVolumeSource, "A disk of Google Compute Engine."),
  awsElasticBlockStore: nullable(4, AWSElasticBlockStoreVolumeSource, "A disk of Amazon EBS."),
  gitRepo: nullable(5, GitRepoVolumeSource, "A git repository."),
  secret: nullable(6, SecretVolumeSource, "The keys of a secret as files."),
  nfs: nullable(7, NFSVolumeSource, "A folder of an NFS server."),
  iscsi: nullable(8, ISCSIVolumeSource, "An iSCSI disk."),
  glusterfs: nullable(9, GlusterfsVolumeSource, "A Glusterfs volume."),
  persistentVolumeClaim: nullable(10, PersistentVolumeClaimVolumeSource, "The volume that a claim is bound to."),
  rbd: nullable(11, RBDVolumeSource, "A Ceph block device."),
  flexVolume: nullable(12, FlexVolumeSource, "A volume from a program on the node."),
  cinder: nullable(13, CinderVolumeSource, "A volume of OpenStack Cinder."),
  cephfs: nullable(14, CephFSVolumeSource, "A Ceph file system."),
  flocker: nullable(15, FlockerVolumeSource, "A Flocker dataset."),
  downwardAPI: nullable(16, DownwardAPIVolumeSource, "Facts about the pod as files."),
  fc: nullable(17, FCVolumeSource, "A Fibre Channel disk."),
  azureFile: nullable(18, AzureFileVolumeSource, "A file share of Azure."),
  configMap: nullable(19, ConfigMapVolumeSource, "The keys of a config map as files."),
  vsphereVolume: nullable(20, VsphereVirtualDiskVolumeSource, "A disk of vSphere."),
  quobyte: nullable(21, QuobyteVolumeSource, "A Quobyte volume."),
  azureDisk: nullable(22, AzureDiskVolumeSource, "A data disk of Azure."),
  photonPersistentDisk: nullable(23, PhotonPersistentDiskVolumeSource, "A disk of a Photon controller."),
  projected: nullable(26, ProjectedVolumeSource, "Several sources in one folder."),
  portworxVolume: nullable(24, PortworxVolumeSource, "A Portworx volume."),
  scaleIO: nullable(25, ScaleIOVolumeSource, "A ScaleIO volume."),
  storageos: nullable(27, StorageOSVolumeSource, "A StorageOS volume."),
  csi: nullable(28, CSIVolumeSource, "A volume that a CSI driver makes for the pod."),
  ephemeral: nullable(29, EphemeralVolumeSource, "A volume that is made for the pod and goes with it."),
  image: nullable(30, ImageVolumeSource, "The files of an image."),
};

export const Volume = object(
  "Volume",
  { doc: "A volume that the containers of a pod can mount; exactly one source is set.", defaults: volumeDefaults },
  { name: present(1, string(), "Name of the volume, unique in the pod."), ...inline(2, volumeSourceFields) },
);
export interface Volume extends Infer<typeof Volume> {}

export type VolumeSource = Omit<Volume, "name">;

function volumeDefaults(volume: { emptyDir?: object; image?: { reference?: string; pullPolicy?: PullPolicy } }): void {
  if (!Object.keys(volume).some((key) => key !== "name")) volume.emptyDir = {};
  if (volume.image) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? "");
}
