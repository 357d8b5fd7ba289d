import { posix } from "node:path";
import { validateNoBacksteps } from "#api/core/pod/validate/volumes/validate-path.ts";
import {
  iscsiNameFault,
  networkSourceChecks,
  validateCsiDriver,
  validateLun,
} from "#api/core/pod/validate/volumes/validate-volume-sources.ts";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { type SecretReference } from "../references.ts";
import { type PersistentVolumeSource, type PersistentVolumeSpec } from "./persistent-volume-spec.ts";

type SourceName = keyof PersistentVolumeSource;
type Checks = {
  readonly [K in SourceName]?: (at: Cursor<NonNullable<PersistentVolumeSource[K]>>, name: string) => void;
};

/** In upstream's order: of several sources the first counts. */
export const persistentSourceNames: readonly SourceName[] = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
];

/**
 * Checks that the volume named `name` has one source, and the source itself. The schema checks for required fields.
 * Returns the source that counts.
 */
export function validatePersistentSources(at: Cursor<PersistentVolumeSpec>, name: string): SourceName | undefined {
  const { hostPath, persistentVolumeReclaimPolicy: policy } = at.value;
  const found = persistentSourceNames.filter((source) => at.value[source] !== undefined);
  for (const [index, source] of found.entries()) {
    // Upstream never counts a FlexVolume as one too many.
    if (index === 0 || source === "flexVolume") validateSource(at, source, name);
    else at.under(source === "cephfs" ? "cephFS" : source).forbidden("may not specify more than 1 volume type");
  }
  if (found.length === 0) at.missing("must specify a volume type");
  if (hostPath && policy === "Recycle" && posix.normalize(hostPath.path) === "/") {
    at.field("persistentVolumeReclaimPolicy").forbidden("may not be 'recycle' for a hostPath mount of '/'");
  }
  return found[0];
}

function validateSource<K extends SourceName>(at: Cursor<PersistentVolumeSource>, source: K, name: string): void {
  const check = checks[source];
  const value = at.value[source];
  // Upstream reports faults of this one under another name.
  if (value) check?.(at.under(source === "gcePersistentDisk" ? "persistentDisk" : source).as(value), name);
}

const {
  gcePersistentDisk,
  awsElasticBlockStore,
  nfs,
  fc,
  flocker,
  quobyte,
  flexVolume,
  azureDisk,
  scaleIO,
  storageos,
} = networkSourceChecks;

const checks: Checks = {
  ...{ gcePersistentDisk, awsElasticBlockStore, nfs, fc, flocker, quobyte, flexVolume, azureDisk, scaleIO },
  hostPath: (at) => validateNoBacksteps(at.field("path")),
  glusterfs(at) {
    at.on("endpointsNamespace", (at) => {
      if (at.value) at.rule(dns1123Label);
      else at.invalid("if the endpointnamespace is set, it must be a valid namespace name");
    });
  },
  iscsi(at, name) {
    const { targetPortal, iqn, lun, chapAuthDiscovery, chapAuthSession, secretRef, initiatorName } = at.value;
    if (initiatorName !== undefined && Buffer.byteLength(`${name}:${targetPortal}`) > 64) {
      const detail =
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
      at.under("targetportal").invalid(detail, targetPortal);
    }
    if (iqn && iscsiNameFault(iqn)) at.field("iqn").invalid("must be valid format");
    validateLun(at.field("lun").as(lun));
    if ((chapAuthDiscovery || chapAuthSession) && !secretRef) at.field("secretRef").missing();
    at.on("secretRef", (at) => at.field("name").required());
    if (initiatorName !== undefined && iscsiNameFault(initiatorName)) {
      at.under("initiatorname").invalid("must be valid format", initiatorName);
    }
  },
  cinder: (at) => at.on("secretRef", requireBothNames),
  azureFile: (at) => at.on("secretNamespace", (at) => at.required()),
  local: (at) => validateNoBacksteps(at.field("path")),
  storageos(at) {
    storageos(at);
    at.on("secretRef", (at) => at.field("namespace").required());
  },
  csi(at) {
    validateCsiDriver(at.field("driver"));
    for (const name of checkedSecrets) at.on(name, validateSecretReference);
  },
};

const checkedSecrets = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const;

function requireBothNames(at: Cursor<SecretReference>): void {
  at.field("name").required();
  at.field("namespace").required();
}

function validateSecretReference(at: Cursor<SecretReference>): void {
  if (at.field("name").required()) at.field("name").rule(dns1123Subdomain);
  if (at.field("namespace").required()) at.field("namespace").rule(dns1123Label);
}
