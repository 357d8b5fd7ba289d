import { duplicateValue, type FieldPath, forbiddenValue, invalidValue, requiredValue } from "#schema/field-error.ts";
import { dns1123Label, dns1123Subdomain } from "../meta/names.ts";
import { type ObjectMeta } from "../meta/object-meta.ts";
import { isNegativeQuantity } from "../meta/quantity.ts";
import { type Faults, judge } from "./faults.ts";
import { validateNoBacksteps } from "./validate-path.ts";
import { validateProjected } from "./validate-projected.ts";
import { validateClaimTemplate } from "./validate-volume-claim-spec.ts";
import { validateDownwardFile, validateItems, validateMode } from "./validate-volume-items.ts";
import { networkSourceChecks, validateCsiDriver } from "./validate-volume-sources.ts";
import { type Volume, type VolumeSource } from "./volume.ts";

type SourceName = keyof VolumeSource;
export type SourceCheck<K extends SourceName> = (
  source: NonNullable<VolumeSource[K]>,
  path: FieldPath,
  faults: Faults,
) => void;
export type SourceChecks = { readonly [K in SourceName]?: SourceCheck<K> };

/** What the rules about volumes need to know of the pod; a template has no metadata of its own. */
export interface VolumeContext {
  readonly isPod: boolean;
  readonly metadata: ObjectMeta | undefined;
}

/** Returns the volumes without fault by name: those that containers can mount. */
export function validateVolumes(
  volumes: readonly Volume[],
  context: VolumeContext,
  path: FieldPath,
  faults: Faults,
): ReadonlyMap<string, Volume> {
  const sound = new Map<string, Volume>();
  const madeClaims = claimsMadeFor(volumes, context.metadata);
  for (const [index, volume] of volumes.entries()) {
    const at = path.index(index);
    const before = faults.length;
    validateSources(volume, context, at, faults);
    if (!volume.name) faults.push(requiredValue(at.child("name")));
    else judge(dns1123Label, volume.name, at, "name", faults);
    if (sound.has(volume.name)) faults.push(duplicateValue(at.child("name"), volume.name));
    if (faults.length === before) sound.set(volume.name, volume);

    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && madeClaims.has(claim)) {
      const detail = "must not reference a PVC that gets created for an ephemeral volume";
      faults.push(invalidValue(at.child("persistentVolumeClaim", "claimName"), claim, detail));
    }
  }
  return sound;
}

function claimsMadeFor(volumes: readonly Volume[], metadata: ObjectMeta | undefined): ReadonlySet<string> {
  if (!metadata?.name) return new Set();
  return new Set(volumes.filter((volume) => volume.ephemeral).map((volume) => `${metadata.name}-${volume.name}`));
}

/** In upstream's order: of several sources the first counts. */
const sourceNames = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
] as const satisfies readonly SourceName[];

function validateSources(volume: Volume, context: VolumeContext, path: FieldPath, faults: Faults): void {
  const [first, ...others] = sourcesOf(volume);
  if (first === undefined) {
    faults.push(requiredValue(path, "must specify a volume type"));
    return;
  }
  validateSource(volume, first, path, faults);
  for (const name of others) {
    faults.push(forbiddenValue(path.child(name), "may not specify more than 1 volume type"));
  }
  if (first === "ephemeral") validateClaimName(volume.name, context.metadata?.name, path, faults);
  if (first === "image" && context.isPod && !volume.image?.reference) {
    faults.push(requiredValue(path.child("image", "reference")));
  }
  if (volume.iscsi?.initiatorName !== undefined && `${volume.name}:${volume.iscsi.targetPortal}`.length > 64) {
    const detail =
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
    faults.push(invalidValue(path.child("name"), volume.name, detail));
  }
}

const order = new Map<string, number>(sourceNames.map((name, index) => [name, index]));
const isSource = (key: string): key is (typeof sourceNames)[number] => order.has(key);

function sourcesOf(volume: Volume): SourceName[] {
  const names = Object.keys(volume).filter(isSource);
  return names.length < 2 ? names : names.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
}

function validateSource<K extends SourceName>(volume: Volume, name: K, path: FieldPath, faults: Faults): void {
  const source = volume[name];
  const check = sourceChecks[name];
  // Upstream reports faults of this one under another name.
  if (source && check) check(source, path.child(name === "gcePersistentDisk" ? "persistentDisk" : name), faults);
}

function validateClaimName(volume: string, pod: string | undefined, path: FieldPath, faults: Faults): void {
  if (!pod || !volume) return;
  const claim = `${pod}-${volume}`;
  for (const fault of dns1123Subdomain.all(claim)) {
    faults.push(invalidValue(path.child("name"), volume, `PVC name ${JSON.stringify(claim)}: ${fault}`));
  }
}

const sourceChecks: SourceChecks = {
  ...networkSourceChecks,
  emptyDir({ sizeLimit }, path, faults) {
    if (sizeLimit === undefined || !isNegativeQuantity(sizeLimit)) return;
    faults.push(forbiddenValue(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity"));
  },
  hostPath(source, path, faults) {
    validateNoBacksteps(source.path, path.child("path"), faults);
  },
  secret({ secretName, defaultMode, items }, path, faults) {
    if (!secretName) faults.push(requiredValue(path.child("secretName")));
    validateMode(defaultMode, path, "defaultMode", faults);
    validateItems(items, path.child("items"), faults);
  },
  configMap({ name, defaultMode, items }, path, faults) {
    if (!name) faults.push(requiredValue(path.child("name")));
    validateMode(defaultMode, path, "defaultMode", faults);
    validateItems(items, path.child("items"), faults);
  },
  downwardAPI({ defaultMode, items = [] }, path, faults) {
    validateMode(defaultMode, path, "defaultMode", faults);
    for (const file of items) validateDownwardFile(file, path, faults);
  },
  projected(source, path, faults) {
    validateMode(source.defaultMode, path, "defaultMode", faults);
    validateProjected(source, path, faults);
  },
  csi({ driver, nodePublishSecretRef: secret }, path, faults) {
    validateCsiDriver(driver, path.child("driver"), faults);
    if (!secret) return;
    if (!secret.name) faults.push(requiredValue(path.child("nodePublishSecretRef", "name")));
    else judge(dns1123Subdomain, secret.name, path, "name", faults);
  },
  ephemeral({ volumeClaimTemplate: template }, path, faults) {
    const at = path.child("volumeClaimTemplate");
    if (template) validateClaimTemplate(template, at, faults);
    else faults.push(requiredValue(at));
  },
};
