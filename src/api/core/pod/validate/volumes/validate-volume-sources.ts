import { type VolumeSource } from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, dns1123Subdomain, inclusiveRange } from "#api/meta/names.ts";
import { countBadPairs } from "./host-port-pairs.ts";
import { validateDescendingPath } from "./validate-path.ts";

export type SourceChecks = {
  readonly [K in keyof VolumeSource]?: (at: Cursor<NonNullable<VolumeSource[K]>>) => void;
};

/** Checks of volumes that come over a network. The schema checks for required fields. */
export const networkSourceChecks = {
  gitRepo: (at) => at.on("directory", validateDescendingPath),
  gcePersistentDisk: validatePartition,
  awsElasticBlockStore: validatePartition,
  nfs(at) {
    if (!at.value.path.startsWith("/")) at.field("path").invalid("must be an absolute path");
  },
  iscsi(at) {
    const { iqn, chapAuthDiscovery, chapAuthSession, secretRef, initiatorName } = at.value;
    if (iqn) validateQualifiedTarget(at.field("iqn"));
    validateLun(at.field("lun"));
    if ((chapAuthDiscovery || chapAuthSession) && !secretRef) at.field("secretRef").missing();
    if (initiatorName !== undefined) validateQualifiedTarget(at.under("initiatorname").as(initiatorName));
  },
  fc(at) {
    const { targetWWNs = [], wwids = [], lun } = at.value;
    if (targetWWNs.length === 0 && wwids.length === 0) {
      at.field("targetWWNs").missing("must specify either targetWWNs or wwids, but not both");
    }
    if (targetWWNs.length === 0) return;
    if (wwids.length > 0) {
      at.field("targetWWNs").invalid("targetWWNs and wwids can not be specified simultaneously");
    }
    if (lun === undefined) at.field("lun").missing("lun is required if targetWWNs is specified");
    else validateLun(at.field("lun").as(lun));
  },
  quobyte(at) {
    const { registry, tenant = "" } = at.value;
    if (!registry) return;
    if (tenant.length >= 65) {
      at.field("tenant").missing("must be a UUID and may not exceed a length of 64 characters");
      return;
    }
    for (let bad = countBadPairs(registry); bad > 0 && !at.isFull; bad--) {
      at.field("registry").invalid("must be a host:port pair or multiple pairs separated by commas");
    }
  },
  flocker(at) {
    const { datasetName = "", datasetUUID = "" } = at.value;
    if (!datasetName && !datasetUUID) at.missing("one of datasetName and datasetUUID is required");
    if (datasetName && datasetUUID) {
      at.invalid("datasetName and datasetUUID can not be specified simultaneously", "resource");
    }
    if (datasetName.includes("/")) at.field("datasetName").invalid("must not contain '/'");
  },
  cinder: validateSecretName,
  flexVolume(at) {
    at.eachKey("options", (at, key) => {
      const namespace = `.${key.split("/", 1)[0]?.toLowerCase()}`;
      if (!namespace.endsWith(".kubernetes.io") && !namespace.endsWith(".k8s.io")) return;
      at.invalid("kubernetes.io and k8s.io namespaces are reserved", key);
    });
  },
  azureDisk(at) {
    const [prefix, form] = at.value.kind === "Managed" ? managedDisk : blobDisk;
    if (!at.value.diskURI.startsWith(prefix)) at.field("diskURI").unsupported([form]);
  },
  storageos(at) {
    if (at.field("volumeName").required()) at.field("volumeName").rule(dns1123Label);
    at.set("volumeNamespace")?.rule(dns1123Label);
    validateSecretName(at);
  },
  scaleIO: (at) => void at.field("volumeName").required(),
} satisfies SourceChecks;

const managedDisk = [
  "/subscriptions/",
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
] as const;
const blobDisk = ["https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"] as const;

function validatePartition(at: Cursor<{ partition?: number }>): void {
  const { partition = 0 } = at.value;
  if (partition < 0 || partition > 255) at.field("partition").invalid(inclusiveRange(1, 255));
}

export function validateLun(at: Cursor<number>): void {
  if (at.value < 0 || at.value > 255) at.invalid(inclusiveRange(0, 255));
}

const targetForms = new Map<string, (name: string) => boolean>([
  ["iqn", endsInQualifiedName],
  ["eui", (name) => /^eui.[A-Za-z0-9]{16}$/.test(name)],
  ["naa", (name) => /^naa.[A-Za-z0-9]{32}$/.test(name)],
]);

/**
 * Whether the text ends in a name such as iqn.2001-04.com.example:disk. One pattern for all of it takes time in proportion
 * to the square of the length, and splitting the text at its colons takes long too.
 */
function endsInQualifiedName(text: string): boolean {
  const authority = /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+/g;
  const separator = /[,;*&$|\s]/g;
  while (authority.test(text)) {
    separator.lastIndex = authority.lastIndex;
    if (!separator.test(text)) return text[authority.lastIndex] === ":" && authority.lastIndex + 1 < text.length;
    authority.lastIndex = separator.lastIndex;
  }
  return false;
}

/** The name of an iSCSI target or initiator. */
function validateQualifiedTarget(at: Cursor<string>): void {
  at.invalid(iscsiNameFault(at.value));
}

export function iscsiNameFault(name: string): string | undefined {
  const form = targetForms.get(name.slice(0, 3));
  if (!form) return "must be valid format starting with iqn, eui, or naa";
  return form(name) ? undefined : "must be valid format";
}

function validateSecretName(at: Cursor<{ secretRef?: { name?: string } }>): void {
  at.on("secretRef", (at) => at.field("name").required());
}

export function validateCsiDriver(at: Cursor<string>): void {
  if (!at.value) return;
  if (at.value.length > 63) at.tooLong(63);
  for (const detail of dns1123Subdomain.all(at.value.toLowerCase())) at.invalid(detail);
}
