import { defaulted, demanded, inGo, nullable, optional, present, required, stated } from "#schema/fields.ts";
import { type Field, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, map, string } from "#schema/types.ts";
import { ObjectReference, SecretReference } from "../references.ts";
import { hostPathSource } from "../volume/volume.ts";
import { remoteSources } from "../volume/volume-sources.ts";

const object = inPackage("core/v1");

/** A source that the volumes of pods have too, with its number in persistent volumes. */
const shared = <F extends Field>(tag: number, source: F): F => ({ ...source, tag });

const fsType = (tag: number) =>
  optional(tag, string(), "File system of the volume, such as ext4; that of the driver if empty.");
const readOnly = (tag: number) => optional(tag, boolean(), "Whether the volume is mounted read-only.");
const secretRef = (tag: number, what: string) => nullable(tag, SecretReference, `Secret with ${what}.`);

/** Where the data of a persistent volume is. Secrets are named with their namespaces, because the volume has none. */
export const persistentSources = {
  gcePersistentDisk: shared(1, remoteSources.gcePersistentDisk),
  awsElasticBlockStore: shared(2, remoteSources.awsElasticBlockStore),
  hostPath: shared(3, hostPathSource),
  glusterfs: object.nullable(4, "GlusterfsPersistentVolumeSource", "A Glusterfs volume. No longer supported.", {
    endpoints: required(1, string(), "Name of the Endpoints object of the Glusterfs servers."),
    path: required(2, string(), "Name of the Glusterfs volume."),
    readOnly: readOnly(3),
    endpointsNamespace: nullable(4, string(), "Namespace of the Endpoints object; that of the claim if absent."),
  }),
  nfs: shared(5, remoteSources.nfs),
  rbd: object.nullable(6, "RBDPersistentVolumeSource", "A Ceph block device. No longer supported.", {
    monitors: required(1, atomicList(string()), "Addresses of the Ceph monitors."),
    image: required(2, string(), "Name of the RBD image."),
    fsType: fsType(3),
    pool: stated(defaulted(4, string(), "rbd", "Name of the pool that holds the image.")),
    user: stated(defaulted(5, string(), "admin", "Name of the Ceph user.")),
    keyring: stated(defaulted(6, string(), "/etc/ceph/keyring", "Path of the user's keyring on the node.")),
    secretRef: secretRef(7, "the key of the user. It overrides keyring"),
    readOnly: readOnly(8),
  }),
  iscsi: object.nullable(7, "ISCSIPersistentVolumeSource", "An iSCSI disk.", {
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
  cinder: object.nullable(8, "CinderPersistentVolumeSource", "A volume of OpenStack Cinder.", {
    volumeID: required(1, string(), "ID of the Cinder volume."),
    fsType: fsType(2),
    readOnly: readOnly(3),
    secretRef: secretRef(4, "the parameters of the connection to OpenStack"),
  }),
  cephfs: object.nullable(9, "CephFSPersistentVolumeSource", "A Ceph file system. No longer supported.", {
    monitors: required(1, atomicList(string()), "Addresses of the Ceph monitors."),
    path: optional(2, string(), "Directory to mount; the root of the file system if empty."),
    user: optional(3, string(), "Name of the Ceph user; admin if empty."),
    secretFile: optional(4, string(), "Path of the user's keyring; /etc/ceph/user.secret if empty."),
    secretRef: secretRef(5, "the key of the user. It overrides secretFile"),
    readOnly: readOnly(6),
  }),
  fc: shared(10, remoteSources.fc),
  flocker: shared(11, remoteSources.flocker),
  flexVolume: object.nullable(12, "FlexPersistentVolumeSource", "A volume of a program on the node. Deprecated.", {
    driver: required(1, string(), "Name of the FlexVolume driver."),
    fsType: fsType(2),
    secretRef: secretRef(3, "sensitive settings for the driver"),
    readOnly: readOnly(4),
    options: optional(5, map(string()), "Further settings for the driver, by name."),
  }),
  azureFile: object.nullable(13, "AzureFilePersistentVolumeSource", "A file share of Azure.", {
    secretName: required(1, string(), "Secret with the name and key of the storage account."),
    shareName: required(2, string(), "Name of the file share."),
    readOnly: readOnly(3),
    secretNamespace: nullable(4, string(), "Namespace of the Secret; that of the pod if absent."),
  }),
  vsphereVolume: shared(14, remoteSources.vsphereVolume),
  quobyte: shared(15, remoteSources.quobyte),
  azureDisk: shared(16, remoteSources.azureDisk),
  photonPersistentDisk: shared(17, remoteSources.photonPersistentDisk),
  portworxVolume: shared(18, remoteSources.portworxVolume),
  scaleIO: object.nullable(19, "ScaleIOPersistentVolumeSource", "A ScaleIO volume. No longer supported.", {
    gateway: required(1, string(), "Address of the ScaleIO gateway."),
    system: required(2, string(), "Name of the storage system."),
    secretRef: demanded(inGo({ zero: "written" }, secretRef(3, "the credentials of the user"))),
    sslEnabled: optional(4, boolean(), "Whether the gateway is reached over TLS."),
    protectionDomain: optional(5, string(), "Name of the protection domain."),
    storagePool: optional(6, string(), "Name of the storage pool in the protection domain."),
    storageMode: stated(defaulted(7, string(), "ThinProvisioned", "ThickProvisioned or ThinProvisioned.")),
    volumeName: optional(8, string(), "Name of the ScaleIO volume."),
    fsType: stated(defaulted(9, string(), "xfs", "File system of the volume.")),
    readOnly: readOnly(10),
  }),
  local: object.nullable(20, "LocalVolumeSource", "A directory or a disk of one node.", {
    path: required(1, string(), "Path of the directory or disk on the node."),
    fsType: nullable(2, string(), "File system of the disk, if the path is one; detected if absent."),
  }),
  storageos: object.nullable(21, "StorageOSPersistentVolumeSource", "A StorageOS volume. No longer supported.", {
    volumeName: optional(1, string(), "Name of the StorageOS volume."),
    volumeNamespace: optional(2, string(), "Namespace of the volume in StorageOS; that of the pod if empty."),
    fsType: fsType(3),
    readOnly: readOnly(4),
    secretRef: nullable(5, ObjectReference, "Secret with the credentials for the StorageOS API."),
  }),
  csi: object.nullable(22, "CSIPersistentVolumeSource", "A volume of a CSI driver.", {
    driver: required(1, string(), "Name of the CSI driver."),
    volumeHandle: required(2, string(), "Name that the CSI driver has for the volume."),
    readOnly: readOnly(3),
    fsType: fsType(4),
    volumeAttributes: optional(5, map(string()), "Attributes of the volume for the CSI driver, by name."),
    controllerPublishSecretRef: secretRef(6, "sensitive settings for attaching and detaching the volume"),
    nodeStageSecretRef: secretRef(7, "sensitive settings for preparing the volume on a node"),
    nodePublishSecretRef: secretRef(8, "sensitive settings for mounting the volume into a pod"),
    controllerExpandSecretRef: secretRef(9, "sensitive settings for growing the volume"),
    nodeExpandSecretRef: secretRef(10, "sensitive settings for growing the volume on a node"),
  }),
};
