import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { Volume, type VolumeSource } from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { isNegativeQuantity } from "#api/meta/quantity.ts";
import { validateNoBacksteps } from "./validate-path.ts";
import { validateProjected } from "./validate-projected.ts";
import { validateClaimTemplate } from "./validate-volume-claim-spec.ts";
import { validateDownwardFile, validateKeyFiles, validateMode } from "./validate-volume-items.ts";
import { networkSourceChecks, type SourceChecks, validateCsiDriver } from "./validate-volume-sources.ts";

type SourceName = keyof VolumeSource;

/** Returns the volumes without fault by name: those that containers can mount. A template has no metadata of its own. */
export function validateVolumes(
  spec: Cursor<Pick<PodSpec, "volumes">>,
  metadata: ObjectMeta | undefined,
): ReadonlyMap<string, Volume> {
  const sound = new Map<string, Volume>();
  const madeClaims = claimsMadeFor(spec.value.volumes ?? [], metadata);
  spec.each("volumes", (at) => {
    const { faultCount, value: volume } = at;
    validateSources(at, metadata);
    if (at.field("name").required()) at.field("name").rule(dns1123Label);
    if (sound.has(volume.name)) at.field("name").duplicate();
    if (at.faultCount === faultCount) sound.set(volume.name, volume);
    at.on("persistentVolumeClaim", (at) => {
      if (!madeClaims.has(at.value.claimName)) return;
      at.field("claimName").invalid("must not reference a PVC that gets created for an ephemeral volume");
    });
  });
  return sound;
}

function claimsMadeFor(volumes: readonly Volume[], metadata: ObjectMeta | undefined): ReadonlySet<string> {
  if (!metadata?.name) return new Set();
  return new Set(volumes.filter((volume) => volume.ephemeral).map((volume) => `${metadata.name}-${volume.name}`));
}

/** In upstream's order: of several sources the first counts. */
const sourceNames = `emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker
  persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc flexVolume configMap azureFile vsphereVolume
  photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi ephemeral image`
  .split(/\s+/)
  .filter((name): name is SourceName => name in Volume.fields);

function validateSources(at: Cursor<Volume>, metadata: ObjectMeta | undefined): void {
  const { name, image, iscsi } = at.value;
  at.exactlyOne(sourceNames, "volume", (source) => {
    validateSource(at, source);
    if (source === "ephemeral") validateClaimName(at.field("name"), metadata?.name);
    if (source === "image" && metadata && !image?.reference) at.under("image", "reference").missing();
  });
  if (iscsi?.initiatorName !== undefined && `${name}:${iscsi.targetPortal}`.length > 64) {
    const detail =
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
    at.field("name").invalid(detail);
  }
}

function validateSource<K extends SourceName>(at: Cursor<Volume>, name: K): void {
  const check = sourceChecks[name];
  const source = at.value[name];
  // Upstream reports faults of this one under another name.
  if (source) check?.(at.under(name === "gcePersistentDisk" ? "persistentDisk" : name).as(source));
}

function validateClaimName(at: Cursor<string>, pod: string | undefined): void {
  if (!pod || !at.value) return;
  const claim = `${pod}-${at.value}`;
  for (const fault of dns1123Subdomain.all(claim)) at.invalid(`PVC name ${JSON.stringify(claim)}: ${fault}`);
}

const sourceChecks: SourceChecks = {
  ...networkSourceChecks,
  emptyDir(at) {
    at.on("sizeLimit", (at) => {
      if (isNegativeQuantity(at.value)) at.forbidden("SizeLimit field must be a valid resource quantity");
    });
  },
  hostPath: (at) => validateNoBacksteps(at.field("path")),
  secret: (at) => validateKeyFiles(at, "secretName"),
  configMap: (at) => validateKeyFiles(at, "name"),
  downwardAPI(at) {
    at.on("defaultMode", validateMode);
    for (const file of at.value.items ?? []) validateDownwardFile(at.as(file));
  },
  projected(at) {
    at.on("defaultMode", validateMode);
    validateProjected(at);
  },
  csi(at) {
    validateCsiDriver(at.field("driver"));
    const { nodePublishSecretRef: secret } = at.value;
    if (secret?.name) at.under("name").rule(dns1123Subdomain, secret.name);
    else if (secret) at.under("nodePublishSecretRef", "name").missing();
  },
  ephemeral(at) {
    at.field("volumeClaimTemplate").required();
    at.on("volumeClaimTemplate", validateClaimTemplate);
  },
};
