import { type FieldPath, invalidValue, requiredValue, tooLong, unsupportedValue } from "#schema/field-error.ts";
import { dns1123Label, dns1123Subdomain, inclusiveRange } from "../meta/names.ts";
import { type Faults, judge, judgeIfSet } from "./faults.ts";
import { validateDescendingPath } from "./validate-path.ts";
import { type SourceChecks } from "./validate-volume.ts";

/** Volumes that come over a network. What is merely required the schema sees to. */
export const networkSourceChecks: SourceChecks = {
  gitRepo({ directory = "" }, path, faults) {
    validateDescendingPath(directory, path.child("directory"), faults);
  },
  gcePersistentDisk({ partition }, path, faults) {
    validatePartition(partition, path, faults);
  },
  awsElasticBlockStore({ partition }, path, faults) {
    validatePartition(partition, path, faults);
  },
  nfs(source, path, faults) {
    if (!source.path.startsWith("/")) {
      faults.push(invalidValue(path.child("path"), source.path, "must be an absolute path"));
    }
  },
  iscsi({ iqn, lun, chapAuthDiscovery, chapAuthSession, secretRef, initiatorName }, path, faults) {
    if (iqn) validateQualifiedTarget(iqn, path.child("iqn"), faults);
    validateLun(lun, path, faults);
    if ((chapAuthDiscovery || chapAuthSession) && !secretRef) faults.push(requiredValue(path.child("secretRef")));
    if (initiatorName !== undefined) validateQualifiedTarget(initiatorName, path.child("initiatorname"), faults);
  },
  fc({ targetWWNs = [], wwids = [], lun }, path, faults) {
    const at = path.child("targetWWNs");
    if (targetWWNs.length === 0 && wwids.length === 0) {
      faults.push(requiredValue(at, "must specify either targetWWNs or wwids, but not both"));
    }
    if (targetWWNs.length === 0) return;
    if (wwids.length > 0) {
      faults.push(invalidValue(at, targetWWNs, "targetWWNs and wwids can not be specified simultaneously"));
    }
    if (lun === undefined) faults.push(requiredValue(path.child("lun"), "lun is required if targetWWNs is specified"));
    else validateLun(lun, path, faults);
  },
  quobyte({ registry, tenant = "" }, path, faults) {
    const detail = "must be a host:port pair or multiple pairs separated by commas";
    if (!registry) return;
    if (tenant.length >= 65) {
      const text = "must be a UUID and may not exceed a length of 64 characters";
      faults.push(requiredValue(path.child("tenant"), text));
      return;
    }
    for (const pair of registry.split(",")) {
      if (!/^(\[[^\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair)) {
        faults.push(invalidValue(path.child("registry"), registry, detail));
      }
    }
  },
  flocker({ datasetName = "", datasetUUID = "" }, path, faults) {
    if (!datasetName && !datasetUUID) {
      faults.push(requiredValue(path, "one of datasetName and datasetUUID is required"));
    }
    if (datasetName && datasetUUID) {
      const detail = "datasetName and datasetUUID can not be specified simultaneously";
      faults.push(invalidValue(path, "resource", detail));
    }
    if (datasetName.includes("/")) {
      faults.push(invalidValue(path.child("datasetName"), datasetName, "must not contain '/'"));
    }
  },
  cinder({ secretRef }, path, faults) {
    validateSecretName(secretRef, path, faults);
  },
  flexVolume({ options }, path, faults) {
    validateFlexOptions(options, path, faults);
  },
  azureDisk({ kind, diskURI }, path, faults) {
    const [prefix, form] = kind === "Managed" ? managedDisk : blobDisk;
    if (!diskURI.startsWith(prefix)) faults.push(unsupportedValue(path.child("diskURI"), diskURI, [form]));
  },
  storageos({ volumeName, volumeNamespace, secretRef }, path, faults) {
    if (!volumeName) faults.push(requiredValue(path.child("volumeName")));
    else judge(dns1123Label, volumeName, path, "volumeName", faults);
    judgeIfSet(dns1123Label, volumeNamespace, path, "volumeNamespace", faults);
    validateSecretName(secretRef, path, faults);
  },
  scaleIO({ volumeName }, path, faults) {
    if (!volumeName) faults.push(requiredValue(path.child("volumeName")));
  },
};

const managedDisk = [
  "/subscriptions/",
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
] as const;
const blobDisk = ["https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"] as const;

function validatePartition(partition = 0, path: FieldPath, faults: Faults): void {
  if (partition >= 0 && partition <= 255) return;
  faults.push(invalidValue(path.child("partition"), partition, inclusiveRange(1, 255)));
}

function validateLun(lun: number, path: FieldPath, faults: Faults): void {
  if (lun < 0 || lun > 255) faults.push(invalidValue(path.child("lun"), lun, inclusiveRange(0, 255)));
}

const targetForms = new Map([
  ["iqn", /iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[A-Za-z0-9]{16}$/],
  ["naa", /^naa.[A-Za-z0-9]{32}$/],
]);

/** The name of an iSCSI target or initiator. */
function validateQualifiedTarget(name: string, path: FieldPath, faults: Faults): void {
  const form = targetForms.get(name.slice(0, 3));
  if (!form) faults.push(invalidValue(path, name, "must be valid format starting with iqn, eui, or naa"));
  else if (!form.test(name)) faults.push(invalidValue(path, name, "must be valid format"));
}

function validateSecretName(reference: { name?: string } | undefined, path: FieldPath, faults: Faults): void {
  if (reference && !reference.name) faults.push(requiredValue(path.child("secretRef", "name")));
}

function validateFlexOptions(
  options: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
  faults: Faults,
): void {
  for (const key in options) {
    const namespace = `.${key.split("/", 1)[0]?.toLowerCase()}`;
    if (!namespace.endsWith(".kubernetes.io") && !namespace.endsWith(".k8s.io")) continue;
    const detail = "kubernetes.io and k8s.io namespaces are reserved";
    faults.push(invalidValue(path.child("options").key(key), key, detail));
  }
}

export function validateCsiDriver(driver: string, path: FieldPath, faults: Faults): void {
  if (!driver) return;
  if (driver.length > 63) faults.push(tooLong(path, 63));
  for (const detail of dns1123Subdomain.all(driver.toLowerCase())) faults.push(invalidValue(path, driver, detail));
}
