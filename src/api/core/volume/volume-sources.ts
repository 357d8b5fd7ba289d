import { defaulted, demanded, inGo, nullable, optional, present, required, stated, written } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, map, oneOf, string } from "#schema/types.ts";
import { LocalObjectReference } from "../references.ts";

const object = inPackage("core/v1");

const fsType = (tag: number) =>
  optional(tag, string(), "File system of the volume, such as ext4; that of the driver if empty.");
const readOnly = (tag: number) => optional(tag, boolean(), "Whether the volume is mounted read-only.");
const secretRef = (tag: number, what: string) => nullable(tag, LocalObjectReference, `Secret with ${what}.`);

/** The sources of volumes that are disks of a cloud or come over a network, most of them through a CSI driver today. */
export const remoteSources = {
  gcePersistentDisk: object.nullable(3, "GCEPersistentDiskVolumeSource", "A disk of Google Compute Engine.", {
    pdName: required(1, string(), "Name of the disk."),
    fsType: fsType(2),
    partition: optional(3, int32(), "Number of the partition to mount; the whole disk if 0."),
    readOnly: readOnly(4),
  }),
  awsElasticBlockStore: object.nullable(4, "AWSElasticBlockStoreVolumeSource", "A disk of Amazon EBS.", {
    volumeID: required(1, string(), "ID of the disk."),
    fsType: fsType(2),
    partition: optional(3, int32(), "Number of the partition to mount; the whole disk if 0."),
    readOnly: readOnly(4),
  }),
  nfs: object.nullable(7, "NFSVolumeSource", "A directory of an NFS server.", {
    server: required(1, string(), "Host name or IP address of the NFS server."),
    path: required(2, string(), "Absolute path that the NFS server exports."),
    readOnly: readOnly(3),
  }),
  iscsi: object.nullable(8, "ISCSIVolumeSource", "An iSCSI disk.", {
    targetPortal: required(1, string(), "IP address and port of the iSCSI target."),
    iqn: required(2, string(), "Qualified name of the iSCSI target."),
    lun: present(3, int32(), "Logical unit number on the iSCSI target."),
    iscsiInterface: stated(defaulted(4, string(), "default", "Interface that sends the iSCSI traffic.")),
    fsType: fsType(5),
    readOnly: readOnly(6),
    portals: optional(7, atomicList(string()), "IP addresses and ports of further portals of the iSCSI target."),
    chapAuthDiscovery: optional(8, boolean(), "Whether iSCSI discovery is authenticated with CHAP."),
    chapAuthSession: optional(11, boolean(), "Whether the iSCSI session is authenticated with CHAP."),
    secretRef: secretRef(10, "the credentials for CHAP"),
    initiatorName: nullable(12, string(), "Name of the iSCSI initiator; that of the node if absent."),
  }),
  glusterfs: object.nullable(9, "GlusterfsVolumeSource", "A Glusterfs volume. No longer supported.", {
    endpoints: required(1, string(), "Name of the Endpoints object of the Glusterfs servers."),
    path: required(2, string(), "Name of the Glusterfs volume."),
    readOnly: readOnly(3),
  }),
  rbd: object.nullable(11, "RBDVolumeSource", "A Ceph block device. No longer supported.", {
    monitors: required(1, atomicList(string()), "Addresses of the Ceph monitors."),
    image: required(2, string(), "Name of the RBD image."),
    fsType: fsType(3),
    pool: stated(defaulted(4, string(), "rbd", "Name of the pool that holds the image.")),
    user: stated(defaulted(5, string(), "admin", "Name of the Ceph user.")),
    keyring: stated(defaulted(6, string(), "/etc/ceph/keyring", "Path of the user's keyring on the node.")),
    secretRef: secretRef(7, "the key of the user. It overrides keyring"),
    readOnly: readOnly(8),
  }),
  flexVolume: object.nullable(12, "FlexVolumeSource", "A volume of a program on the node. Deprecated: use CSI.", {
    driver: required(1, string(), "Name of the FlexVolume driver."),
    fsType: fsType(2),
    secretRef: secretRef(3, "sensitive settings for the driver"),
    readOnly: readOnly(4),
    options: optional(5, map(string()), "Further settings for the driver, by name."),
  }),
  cinder: object.nullable(13, "CinderVolumeSource", "A volume of OpenStack Cinder.", {
    volumeID: required(1, string(), "ID of the Cinder volume."),
    fsType: fsType(2),
    readOnly: readOnly(3),
    secretRef: secretRef(4, "the parameters of the connection to OpenStack"),
  }),
  cephfs: object.nullable(14, "CephFSVolumeSource", "A Ceph file system. No longer supported.", {
    monitors: required(1, atomicList(string()), "Addresses of the Ceph monitors."),
    path: optional(2, string(), "Directory to mount; the root of the file system if empty."),
    user: optional(3, string(), "Name of the Ceph user; admin if empty."),
    secretFile: optional(4, string(), "Path of the user's keyring; /etc/ceph/user.secret if empty."),
    secretRef: secretRef(5, "the key of the user. It overrides secretFile"),
    readOnly: readOnly(6),
  }),
  flocker: object.nullable(15, "FlockerVolumeSource", "A Flocker dataset. No longer supported.", {
    datasetName: optional(1, string(), "Name of the dataset. Excludes datasetUUID."),
    datasetUUID: optional(2, string(), "UUID of the dataset. Excludes datasetName."),
  }),
  fc: object.nullable(17, "FCVolumeSource", "A Fibre Channel disk.", {
    targetWWNs: optional(1, atomicList(string()), "World wide names of the targets. Requires lun and excludes wwids."),
    lun: nullable(2, int32(), "Logical unit number on the targets."),
    fsType: fsType(3),
    readOnly: readOnly(4),
    wwids: optional(5, atomicList(string()), "World wide identifiers of the volume. Excludes targetWWNs."),
  }),
  azureFile: object.nullable(18, "AzureFileVolumeSource", "A file share of Azure.", {
    secretName: required(1, string(), "Secret with the name and key of the storage account."),
    shareName: required(2, string(), "Name of the file share."),
    readOnly: readOnly(3),
  }),
  vsphereVolume: object.nullable(20, "VsphereVirtualDiskVolumeSource", "A disk of vSphere.", {
    volumePath: required(1, string(), "Path of the disk in vSphere."),
    fsType: fsType(2),
    storagePolicyName: optional(3, string(), "Name of the storage policy."),
    storagePolicyID: optional(4, string(), "ID of the storage policy."),
  }),
  quobyte: object.nullable(21, "QuobyteVolumeSource", "A Quobyte volume. No longer supported.", {
    registry: required(1, string(), "Addresses of the registries, as host:port pairs with commas between them."),
    volume: required(2, string(), "Name of the Quobyte volume."),
    readOnly: readOnly(3),
    user: optional(4, string(), "User that the volume is mounted as."),
    group: optional(5, string(), "Group that the volume is mounted as."),
    tenant: optional(6, string(), "Tenant that owns the volume."),
  }),
  azureDisk: object.nullable(22, "AzureDiskVolumeSource", "A data disk of Azure.", {
    diskName: required(1, string(), "Name of the disk."),
    diskURI: required(2, string(), "URI of the disk."),
    cachingMode: stated(
      inGo(
        { isPointer: true },
        defaulted(3, oneOf("None", "ReadOnly", "ReadWrite"), "ReadWrite", "How the host caches the disk."),
      ),
      "ReadWrite",
    ),
    fsType: stated(defaulted(4, string(), "ext4", "File system of the volume.")),
    readOnly: stated(defaulted(5, boolean(), false, "Whether the volume is mounted read-only.")),
    kind: stated(
      inGo({ isPointer: true }, defaulted(6, oneOf("Dedicated", "Managed", "Shared"), "Shared", "Type of the disk.")),
      "Shared",
    ),
  }),
  photonPersistentDisk: object.nullable(23, "PhotonPersistentDiskVolumeSource", "A Photon disk. No longer supported.", {
    pdID: required(1, string(), "ID of the disk."),
    fsType: fsType(2),
  }),
  portworxVolume: object.nullable(24, "PortworxVolumeSource", "A Portworx volume.", {
    volumeID: required(1, string(), "ID of the Portworx volume."),
    fsType: fsType(2),
    readOnly: readOnly(3),
  }),
  scaleIO: object.nullable(25, "ScaleIOVolumeSource", "A ScaleIO volume. No longer supported.", {
    gateway: required(1, string(), "Address of the ScaleIO gateway."),
    system: required(2, string(), "Name of the storage system."),
    secretRef: demanded(written(secretRef(3, "the credentials of the user"))),
    sslEnabled: optional(4, boolean(), "Whether the gateway is reached over TLS."),
    protectionDomain: optional(5, string(), "Name of the protection domain."),
    storagePool: optional(6, string(), "Name of the storage pool in the protection domain."),
    storageMode: stated(defaulted(7, string(), "ThinProvisioned", "ThickProvisioned or ThinProvisioned.")),
    volumeName: optional(8, string(), "Name of the ScaleIO volume."),
    fsType: stated(defaulted(9, string(), "xfs", "File system of the volume.")),
    readOnly: readOnly(10),
  }),
  storageos: object.nullable(27, "StorageOSVolumeSource", "A StorageOS volume. No longer supported.", {
    volumeName: optional(1, string(), "Name of the StorageOS volume."),
    volumeNamespace: optional(2, string(), "Namespace of the volume in StorageOS; that of the pod if empty."),
    fsType: fsType(3),
    readOnly: readOnly(4),
    secretRef: secretRef(5, "the credentials for the StorageOS API"),
  }),
};
