import { defaulted, inGo, nullable, optional, present, required } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { boolean, int32, list, map, oneOf, string } from "#schema/types.ts";
import { LocalObjectReference } from "../references.ts";

const object = inPackage("core/v1");

export const AWSElasticBlockStoreVolumeSource = object("AWSElasticBlockStoreVolumeSource", "A disk of Amazon EBS.", {
  volumeID: required(1, string(), "ID of the disk."),
  fsType: optional(2, string(), "File system of the volume, such as ext4."),
  partition: optional(3, int32(), "Partition to mount; the whole disk by default."),
  readOnly: optional(4, boolean(), "Whether it can only be read."),
});

export const AzureDiskVolumeSource = object("AzureDiskVolumeSource", "A data disk of Azure, by its CSI driver.", {
  diskName: required(1, string(), "Name of the disk."),
  diskURI: required(2, string(), "URI of the disk."),
  cachingMode: defaulted(3, oneOf("None", "ReadOnly", "ReadWrite"), "ReadWrite", "Caching of the host."),
  fsType: defaulted(4, string(), "ext4", "File system of the volume."),
  readOnly: defaulted(5, boolean(), false, "Whether it can only be read."),
  kind: defaulted(6, oneOf("Dedicated", "Managed", "Shared"), "Shared", "How the disk is kept."),
});

export const AzureFileVolumeSource = object("AzureFileVolumeSource", "A file share of Azure, by its CSI driver.", {
  secretName: required(1, string(), "Secret with the name and key of the storage account."),
  shareName: required(2, string(), "Name of the share."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
});

export const CephFSVolumeSource = object("CephFSVolumeSource", "A Ceph file system. No longer served.", {
  monitors: required(1, list(string()), "Addresses of the monitors."),
  path: optional(2, string(), "Path that is mounted; / by default."),
  user: optional(3, string(), "User to log in as; admin by default."),
  secretFile: optional(4, string(), "Key ring of the user; /etc/ceph/user.secret by default."),
  secretRef: nullable(5, LocalObjectReference, "Secret of the user, in place of the file."),
  readOnly: optional(6, boolean(), "Whether it can only be read."),
});

export const CinderVolumeSource = object("CinderVolumeSource", "A volume of OpenStack Cinder, by its CSI driver.", {
  volumeID: required(1, string(), "ID of the volume."),
  fsType: optional(2, string(), "File system of the volume, such as ext4."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
  secretRef: nullable(4, LocalObjectReference, "Secret with what is needed to reach OpenStack."),
});

export const FCVolumeSource = object("FCVolumeSource", "A Fibre Channel disk.", {
  targetWWNs: optional(1, list(string()), "World wide names of the targets."),
  lun: nullable(2, int32(), "Number of the unit."),
  fsType: optional(3, string(), "File system of the volume, such as ext4."),
  readOnly: optional(4, boolean(), "Whether it can only be read."),
  wwids: optional(5, list(string()), "World wide identifiers of the volume, in place of targets and unit."),
});

export const FlexVolumeSource = object("FlexVolumeSource", "A volume from a program on the node. Use CSI instead.", {
  driver: required(1, string(), "Name of the driver."),
  fsType: optional(2, string(), "File system of the volume; the driver's choice by default."),
  secretRef: nullable(3, LocalObjectReference, "Secret that is handed to the driver."),
  readOnly: optional(4, boolean(), "Whether it can only be read."),
  options: optional(5, map(string()), "Further settings for the driver."),
});

export const FlockerVolumeSource = object("FlockerVolumeSource", "A Flocker dataset. No longer served.", {
  datasetName: optional(1, string(), "Name of the dataset."),
  datasetUUID: optional(2, string(), "ID of the dataset."),
});

export const GCEPersistentDiskVolumeSource = object("GCEPersistentDiskVolumeSource", "A disk of Google Compute.", {
  pdName: required(1, string(), "Name of the disk."),
  fsType: optional(2, string(), "File system of the volume, such as ext4."),
  partition: optional(3, int32(), "Partition to mount; the whole disk by default."),
  readOnly: optional(4, boolean(), "Whether it can only be read."),
});

export const GitRepoVolumeSource = object("GitRepoVolumeSource", "A git repository. Deprecated.", {
  repository: required(1, string(), "URL of the repository."),
  revision: optional(2, string(), "The commit."),
  directory: optional(3, string(), "Where in the volume it goes."),
});

export const GlusterfsVolumeSource = object("GlusterfsVolumeSource", "A Glusterfs volume. No longer served.", {
  endpoints: required(1, string(), "Name of the endpoints of the servers."),
  path: required(2, string(), "Name of the volume."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
});

export const ISCSIVolumeSource = object("ISCSIVolumeSource", "An iSCSI disk.", {
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
});

export const PhotonPersistentDiskVolumeSource = object("PhotonPersistentDiskVolumeSource", "A Photon disk. Removed.", {
  pdID: required(1, string(), "ID of the disk."),
  fsType: optional(2, string(), "File system of the volume, such as ext4."),
});

export const PortworxVolumeSource = object("PortworxVolumeSource", "A Portworx volume. Served by its CSI driver.", {
  volumeID: required(1, string(), "ID of the volume."),
  fsType: optional(2, string(), "File system of the volume, such as ext4."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
});

export const QuobyteVolumeSource = object("QuobyteVolumeSource", "A Quobyte volume. No longer served.", {
  registry: required(1, string(), "Addresses of the registries."),
  volume: required(2, string(), "Name of the volume."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
  user: optional(4, string(), "User to mount as."),
  group: optional(5, string(), "Group to mount as."),
  tenant: optional(6, string(), "Tenant that owns the volume."),
});

export const RBDVolumeSource = object("RBDVolumeSource", "A Ceph block device. No longer served.", {
  monitors: required(1, list(string()), "Addresses of the monitors."),
  image: required(2, string(), "Name of the image."),
  fsType: optional(3, string(), "File system of the volume, such as ext4."),
  pool: defaulted(4, string(), "rbd", "Pool of the image."),
  user: defaulted(5, string(), "admin", "User to log in as."),
  keyring: defaulted(6, string(), "/etc/ceph/keyring", "Path of the key ring of the user."),
  secretRef: nullable(7, LocalObjectReference, "Secret of the user, in place of the key ring."),
  readOnly: optional(8, boolean(), "Whether it can only be read."),
});

export const ScaleIOVolumeSource = object("ScaleIOVolumeSource", "A ScaleIO volume. No longer served.", {
  gateway: required(1, string(), "Address of the gateway."),
  system: required(2, string(), "Name of the storage system."),
  secretRef: inGo({ zero: "written" }, nullable(3, LocalObjectReference, "Secret of the user.")),
  sslEnabled: optional(4, boolean(), "Whether TLS is used."),
  protectionDomain: optional(5, string(), "Name of the protection domain."),
  storagePool: optional(6, string(), "Pool in the domain."),
  storageMode: defaulted(7, string(), "ThinProvisioned", "Whether the storage is thick or thin."),
  volumeName: optional(8, string(), "Name of the volume."),
  fsType: defaulted(9, string(), "xfs", "File system of the volume."),
  readOnly: optional(10, boolean(), "Whether it can only be read."),
});

export const StorageOSVolumeSource = object("StorageOSVolumeSource", "A StorageOS volume. No longer served.", {
  volumeName: optional(1, string(), "Name of the volume."),
  volumeNamespace: optional(2, string(), "Namespace of the volume in StorageOS."),
  fsType: optional(3, string(), "File system of the volume, such as ext4."),
  readOnly: optional(4, boolean(), "Whether it can only be read."),
  secretRef: nullable(5, LocalObjectReference, "Secret with the credentials."),
});

export const VsphereVirtualDiskVolumeSource = object("VsphereVirtualDiskVolumeSource", "A disk of vSphere.", {
  volumePath: required(1, string(), "Path of the disk."),
  fsType: optional(2, string(), "File system of the volume, such as ext4."),
  storagePolicyName: optional(3, string(), "Name of the storage policy."),
  storagePolicyID: optional(4, string(), "ID of the storage policy."),
});
