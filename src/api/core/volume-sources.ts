import {
  boolean,
  defaulted,
  type Infer,
  int32,
  list,
  map,
  nullable,
  object,
  oneOf,
  optional,
  present,
  required,
  string,
} from "#schema/schema.ts";
import { LocalObjectReference } from "./references.ts";

export const AWSElasticBlockStoreVolumeSource = object(
  "core/v1.AWSElasticBlockStoreVolumeSource",
  {
    volumeID: required(1, string(), "ID of the disk."),
    fsType: optional(2, string(), "File system of the volume, such as ext4."),
    partition: optional(3, int32(), "Partition to mount; the whole disk by default."),
    readOnly: optional(4, boolean(), "Whether it can only be read."),
  },
  { doc: "A disk of Amazon EBS. Served by its CSI driver." },
);
export interface AWSElasticBlockStoreVolumeSource extends Infer<typeof AWSElasticBlockStoreVolumeSource> {}

export const AzureDiskVolumeSource = object(
  "core/v1.AzureDiskVolumeSource",
  {
    diskName: required(1, string(), "Name of the disk."),
    diskURI: required(2, string(), "URI of the disk."),
    cachingMode: defaulted(3, oneOf("None", "ReadOnly", "ReadWrite"), "ReadWrite", "Caching of the host."),
    fsType: defaulted(4, string(), "ext4", "File system of the volume."),
    readOnly: defaulted(5, boolean(), false, "Whether it can only be read."),
    kind: defaulted(6, oneOf("Dedicated", "Managed", "Shared"), "Shared", "How the disk is kept."),
  },
  { doc: "A data disk of Azure. Served by its CSI driver." },
);
export interface AzureDiskVolumeSource extends Infer<typeof AzureDiskVolumeSource> {}

export const AzureFileVolumeSource = object(
  "core/v1.AzureFileVolumeSource",
  {
    secretName: required(1, string(), "Secret with the name and key of the storage account."),
    shareName: required(2, string(), "Name of the share."),
    readOnly: optional(3, boolean(), "Whether it can only be read."),
  },
  { doc: "A file share of Azure. Served by its CSI driver." },
);
export interface AzureFileVolumeSource extends Infer<typeof AzureFileVolumeSource> {}

export const CephFSVolumeSource = object(
  "core/v1.CephFSVolumeSource",
  {
    monitors: required(1, list(string()), "Addresses of the monitors."),
    path: optional(2, string(), "Path that is mounted; / by default."),
    user: optional(3, string(), "User to log in as; admin by default."),
    secretFile: optional(4, string(), "Key ring of the user; /etc/ceph/user.secret by default."),
    secretRef: nullable(5, LocalObjectReference, "Secret of the user, in place of the file."),
    readOnly: optional(6, boolean(), "Whether it can only be read."),
  },
  { doc: "A Ceph file system. No longer served." },
);
export interface CephFSVolumeSource extends Infer<typeof CephFSVolumeSource> {}

export const CinderVolumeSource = object(
  "core/v1.CinderVolumeSource",
  {
    volumeID: required(1, string(), "ID of the volume."),
    fsType: optional(2, string(), "File system of the volume, such as ext4."),
    readOnly: optional(3, boolean(), "Whether it can only be read."),
    secretRef: nullable(4, LocalObjectReference, "Secret with what is needed to reach OpenStack."),
  },
  { doc: "A volume of OpenStack Cinder. Served by its CSI driver." },
);
export interface CinderVolumeSource extends Infer<typeof CinderVolumeSource> {}

export const FCVolumeSource = object(
  "core/v1.FCVolumeSource",
  {
    targetWWNs: optional(1, list(string()), "World wide names of the targets."),
    lun: nullable(2, int32(), "Number of the unit."),
    fsType: optional(3, string(), "File system of the volume, such as ext4."),
    readOnly: optional(4, boolean(), "Whether it can only be read."),
    wwids: optional(5, list(string()), "World wide identifiers of the volume, in place of targets and unit."),
  },
  { doc: "A Fibre Channel disk." },
);
export interface FCVolumeSource extends Infer<typeof FCVolumeSource> {}

export const FlexVolumeSource = object(
  "core/v1.FlexVolumeSource",
  {
    driver: required(1, string(), "Name of the driver."),
    fsType: optional(2, string(), "File system of the volume; the driver's choice by default."),
    secretRef: nullable(3, LocalObjectReference, "Secret that is handed to the driver."),
    readOnly: optional(4, boolean(), "Whether it can only be read."),
    options: optional(5, map(string()), "Further settings for the driver."),
  },
  { doc: "A volume from a program on the node. Use CSI instead." },
);
export interface FlexVolumeSource extends Infer<typeof FlexVolumeSource> {}

export const FlockerVolumeSource = object(
  "core/v1.FlockerVolumeSource",
  {
    datasetName: optional(1, string(), "Name of the dataset."),
    datasetUUID: optional(2, string(), "ID of the dataset."),
  },
  { doc: "A Flocker dataset. No longer served." },
);
export interface FlockerVolumeSource extends Infer<typeof FlockerVolumeSource> {}

export const GCEPersistentDiskVolumeSource = object(
  "core/v1.GCEPersistentDiskVolumeSource",
  {
    pdName: required(1, string(), "Name of the disk."),
    fsType: optional(2, string(), "File system of the volume, such as ext4."),
    partition: optional(3, int32(), "Partition to mount; the whole disk by default."),
    readOnly: optional(4, boolean(), "Whether it can only be read."),
  },
  { doc: "A disk of Google Compute Engine. Served by its CSI driver." },
);
export interface GCEPersistentDiskVolumeSource extends Infer<typeof GCEPersistentDiskVolumeSource> {}

export const GitRepoVolumeSource = object(
  "core/v1.GitRepoVolumeSource",
  {
    repository: required(1, string(), "URL of the repository."),
    revision: optional(2, string(), "The commit."),
    directory: optional(3, string(), "Where in the volume it goes."),
  },
  { doc: "A git repository at a revision. Use an init container instead." },
);
export interface GitRepoVolumeSource extends Infer<typeof GitRepoVolumeSource> {}

export const GlusterfsVolumeSource = object(
  "core/v1.GlusterfsVolumeSource",
  {
    endpoints: required(1, string(), "Name of the endpoints of the servers."),
    path: required(2, string(), "Name of the volume."),
    readOnly: optional(3, boolean(), "Whether it can only be read."),
  },
  { doc: "A Glusterfs volume. No longer served." },
);
export interface GlusterfsVolumeSource extends Infer<typeof GlusterfsVolumeSource> {}

export const ISCSIVolumeSource = object(
  "core/v1.ISCSIVolumeSource",
  {
    targetPortal: required(1, string(), "Address of the target."),
    iqn: required(2, string(), "Name of the target."),
    lun: present(3, int32(), "Number of the unit."),
    iscsiInterface: defaulted(4, string(), "default", "Transport that is used."),
    fsType: optional(5, string(), "File system of the volume, such as ext4."),
    readOnly: optional(6, boolean(), "Whether it can only be read."),
    portals: optional(7, list(string()), "Further addresses of the target."),
    chapAuthDiscovery: optional(8, boolean(), "Whether discovery is authenticated with CHAP."),
    chapAuthSession: optional(11, boolean(), "Whether the session is authenticated with CHAP."),
    secretRef: nullable(10, LocalObjectReference, "Secret for CHAP."),
    initiatorName: nullable(12, string(), "Name of the initiator, in place of the node's own."),
  },
  { doc: "An iSCSI disk." },
);
export interface ISCSIVolumeSource extends Infer<typeof ISCSIVolumeSource> {}

export const PhotonPersistentDiskVolumeSource = object(
  "core/v1.PhotonPersistentDiskVolumeSource",
  {
    pdID: required(1, string(), "ID of the disk."),
    fsType: optional(2, string(), "File system of the volume, such as ext4."),
  },
  { doc: "A disk of a Photon controller. No longer served." },
);
export interface PhotonPersistentDiskVolumeSource extends Infer<typeof PhotonPersistentDiskVolumeSource> {}

export const PortworxVolumeSource = object(
  "core/v1.PortworxVolumeSource",
  {
    volumeID: required(1, string(), "ID of the volume."),
    fsType: optional(2, string(), "File system of the volume, such as ext4."),
    readOnly: optional(3, boolean(), "Whether it can only be read."),
  },
  { doc: "A Portworx volume. Served by its CSI driver." },
);
export interface PortworxVolumeSource extends Infer<typeof PortworxVolumeSource> {}

export const QuobyteVolumeSource = object(
  "core/v1.QuobyteVolumeSource",
  {
    registry: required(1, string(), "Addresses of the registries."),
    volume: required(2, string(), "Name of the volume."),
    readOnly: optional(3, boolean(), "Whether it can only be read."),
    user: optional(4, string(), "User to mount as."),
    group: optional(5, string(), "Group to mount as."),
    tenant: optional(6, string(), "Tenant that owns the volume."),
  },
  { doc: "A Quobyte volume. No longer served." },
);
export interface QuobyteVolumeSource extends Infer<typeof QuobyteVolumeSource> {}

export const RBDVolumeSource = object(
  "core/v1.RBDVolumeSource",
  {
    monitors: required(1, list(string()), "Addresses of the monitors."),
    image: required(2, string(), "Name of the image."),
    fsType: optional(3, string(), "File system of the volume, such as ext4."),
    pool: defaulted(4, string(), "rbd", "Pool of the image."),
    user: defaulted(5, string(), "admin", "User to log in as."),
    keyring: defaulted(6, string(), "/etc/ceph/keyring", "Path of the key ring of the user."),
    secretRef: nullable(7, LocalObjectReference, "Secret of the user, in place of the key ring."),
    readOnly: optional(8, boolean(), "Whether it can only be read."),
  },
  { doc: "A Ceph block device. No longer served." },
);
export interface RBDVolumeSource extends Infer<typeof RBDVolumeSource> {}

export const ScaleIOVolumeSource = object(
  "core/v1.ScaleIOVolumeSource",
  {
    gateway: required(1, string(), "Address of the gateway."),
    system: required(2, string(), "Name of the storage system."),
    secretRef: nullable(3, LocalObjectReference, "Secret of the user."),
    sslEnabled: optional(4, boolean(), "Whether TLS is used."),
    protectionDomain: optional(5, string(), "Name of the protection domain."),
    storagePool: optional(6, string(), "Pool in the domain."),
    storageMode: defaulted(7, string(), "ThinProvisioned", "Whether the storage is thick or thin."),
    volumeName: optional(8, string(), "Name of the volume."),
    fsType: defaulted(9, string(), "xfs", "File system of the volume."),
    readOnly: optional(10, boolean(), "Whether it can only be read."),
  },
  { doc: "A ScaleIO volume. No longer served." },
);
export interface ScaleIOVolumeSource extends Infer<typeof ScaleIOVolumeSource> {}

export const StorageOSVolumeSource = object(
  "core/v1.StorageOSVolumeSource",
  {
    volumeName: optional(1, string(), "Name of the volume."),
    volumeNamespace: optional(2, string(), "Namespace of the volume in StorageOS."),
    fsType: optional(3, string(), "File system of the volume, such as ext4."),
    readOnly: optional(4, boolean(), "Whether it can only be read."),
    secretRef: nullable(5, LocalObjectReference, "Secret with the credentials."),
  },
  { doc: "A StorageOS volume. No longer served." },
);
export interface StorageOSVolumeSource extends Infer<typeof StorageOSVolumeSource> {}

export const VsphereVirtualDiskVolumeSource = object(
  "core/v1.VsphereVirtualDiskVolumeSource",
  {
    volumePath: required(1, string(), "Path of the disk."),
    fsType: optional(2, string(), "File system of the volume, such as ext4."),
    storagePolicyName: optional(3, string(), "Name of the storage policy."),
    storagePolicyID: optional(4, string(), "ID of the storage policy."),
  },
  { doc: "A disk of vSphere. Served by its CSI driver." },
);
export interface VsphereVirtualDiskVolumeSource extends Infer<typeof VsphereVirtualDiskVolumeSource> {}
