import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isThere } from "#lib/fs/is-there.ts";
import { isMountPoint } from "#lib/fs/mounts.ts";
import type { PersistentPlugin } from "../claim.ts";
import { giveToGroup } from "../ownership.ts";
import {
  type CsiSource,
  type MountedVolume,
  type PersistentSource,
  type SecretReference,
  type VolumeContext,
  type VolumePlugin,
  volumePath,
} from "../plugin.ts";
import { csiCalls, csiCapability, type VolumeCapability } from "./csi-calls.ts";
import type { CsiDriver, CsiDrivers } from "./csi-drivers.ts";

/** The settings in a CSIDriver object. */
export interface CsiDriverSettings {
  readonly podInfoOnMount?: boolean;
  readonly fsGroupPolicy?: string;
}
export interface CsiDeps {
  readonly drivers: CsiDrivers;
  /** The directory in which volumes are staged, once for all pods of the node. */
  readonly stagingDir: string;
  settings(driver: string): Promise<CsiDriverSettings>;
}

/** What `unmount` needs, stored beside the mount because it may run in a later process. */
interface MountRecord {
  readonly driver: string;
  readonly volumeId: string;
  readonly target: string;
  readonly staging?: string;
}

const pluginName = "kubernetes.io/csi";
const timeoutMs = 120_000;

/** Ephemeral volumes of a driver for one pod, and the unmounting of all CSI volumes. */
export const csiVolume = (deps: CsiDeps): VolumePlugin => ({
  name: pluginName,
  handles: (volume) => volume.csi !== undefined,

  async setUp(context, volume) {
    if (!volume.csi) throw new Error("the volume has no csi");
    const { driver, readOnly = false, fsType = "", volumeAttributes = {}, nodePublishSecretRef } = volume.csi;
    const volumeHandle = ephemeralHandle(context.pod.metadata.uid, volume.name);
    const base = { driver, volumeHandle, readOnly, fsType, volumeAttributes };
    const namespace = context.pod.metadata.namespace;
    const csi = nodePublishSecretRef ? { ...base, nodePublishSecretRef: { ...nodePublishSecretRef, namespace } } : base;
    return await publish(deps, context, { csi, source: { csi }, name: volume.name, isEphemeral: true });
  },
  unmount: (path) => unpublish(deps, path),
});

/** Persistent volumes of a driver. */
export const csiPersistent = (deps: CsiDeps): PersistentPlugin => ({
  handles: ({ csi }) => csi !== undefined,
  async mount(context, { name, spec }) {
    if (!spec.csi) throw new Error("the volume has no csi");
    const wanted = { csi: spec.csi, source: spec, name, isEphemeral: false };
    const { driver, volumeHandle } = spec.csi;
    return await deps.drivers.oneAtATime(driver, volumeHandle, () => publish(deps, context, wanted));
  },
});

const ephemeralHandle = (podUid: string, volume: string): string =>
  `csi-${createHash("sha256").update(`${volume}${podUid}`).digest("hex")}`;

interface Wanted {
  readonly csi: CsiSource;
  readonly source: PersistentSource;
  readonly name: string;
  readonly isEphemeral: boolean;
}

async function publish(deps: CsiDeps, context: VolumeContext, wanted: Wanted): Promise<MountedVolume> {
  const { csi, source, name, isEphemeral } = wanted;
  const driver = deps.drivers.get(csi.driver);
  const settings = await deps.settings(csi.driver);
  const dir = volumePath(context.podDir, pluginName, name);
  const target = source.volumeMode === "Block" ? `${dir}/device` : `${dir}/mount`;
  const readOnly = csi.readOnly ?? false;
  if (await isPublished(dir, target)) return { path: target, readOnly };
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const capability = capabilityOf(driver, context, source);
  const publishContext = source.publishContext ?? {};
  const common = { volumeId: csi.volumeHandle, volumeCapability: capability, publishContext };
  const needsStage = !isEphemeral && driver.capabilities.has(csiCapability.stage);
  const staging = needsStage ? await useStaging(deps, csi, dir) : undefined;
  const record: MountRecord = { driver: csi.driver, volumeId: csi.volumeHandle, target, ...(staging && { staging }) };
  // Written before the calls, so that what a crash leaves half done can be undone.
  await writeFile(`${dir}/vol_data.json`, JSON.stringify(record));
  if (staging && !(await isThere(`${dirname(staging)}/staged`))) {
    const secrets = await secretData(context, csi.nodeStageSecretRef);
    const request = { ...common, stagingTargetPath: staging, secrets, volumeContext: csi.volumeAttributes };
    await driver.client.call(csiCalls.stage, request, { timeoutMs });
    await writeFile(`${dirname(staging)}/staged`, "");
  }
  const request = {
    ...common,
    stagingTargetPath: staging,
    targetPath: target,
    readonly: csi.readOnly,
    secrets: await secretData(context, csi.nodePublishSecretRef),
    volumeContext: { ...csi.volumeAttributes, ...(settings.podInfoOnMount ? podInfo(context, isEphemeral) : {}) },
  };
  await driver.client.call(csiCalls.publish, request, { timeoutMs });
  await giveToPod(context, { driver, source, settings, target });
  return { path: target, readOnly };
}

const isPublished = async (dir: string, target: string): Promise<boolean> =>
  (await isThere(`${dir}/vol_data.json`)) && (await isThere(target)) && (await isMountPoint(target));

/** Records that this pod uses the staged volume, and returns its path. */
async function useStaging({ stagingDir }: CsiDeps, csi: CsiSource, dir: string): Promise<string> {
  const home = `${stagingDir}/${csi.driver}/${createHash("sha256").update(csi.volumeHandle).digest("hex")}`;
  await mkdir(`${home}/users`, { recursive: true });
  await mkdir(`${home}/globalmount`, { recursive: true, mode: 0o750 });
  await writeFile(`${home}/users/${userOf(dir)}`, dir);
  return `${home}/globalmount`;
}
const userOf = (dir: string): string => createHash("sha256").update(dir).digest("hex");

async function unpublish({ drivers }: CsiDeps, dir: string): Promise<void> {
  const text = await readFile(`${dir}/vol_data.json`, "utf8").catch(() => undefined);
  if (text === undefined) return; // It was never mounted, or is already unmounted.
  const record: MountRecord = JSON.parse(text);
  await drivers.oneAtATime(record.driver, record.volumeId, () => undo(drivers.get(record.driver), record, dir));
}

async function undo({ client }: CsiDriver, { volumeId, target, staging }: MountRecord, dir: string): Promise<void> {
  await client.call(csiCalls.unpublish, { volumeId, targetPath: target }, { timeoutMs });
  if (staging) {
    const home = dirname(staging);
    await rm(`${home}/users/${userOf(dir)}`, { force: true });
    if ((await readdir(`${home}/users`)).length === 0) {
      await client.call(csiCalls.unstage, { volumeId, stagingTargetPath: staging }, { timeoutMs });
      await rm(home, { recursive: true, force: true });
    }
  }
  await rm(`${dir}/vol_data.json`);
}

const accessModes: Readonly<Record<string, number>> = {
  ReadWriteOnce: 1,
  ReadOnlyMany: 3,
  ReadWriteMany: 5,
  ReadWriteOncePod: 1,
};
const finerAccessModes: Readonly<Record<string, number>> = { ...accessModes, ReadWriteOnce: 7, ReadWriteOncePod: 6 };

function capabilityOf(driver: CsiDriver, { pod }: VolumeContext, source: PersistentSource): VolumeCapability {
  const modes = driver.capabilities.has(csiCapability.singleNodeMultiWriter) ? finerAccessModes : accessModes;
  const accessMode = { mode: modes[source.accessModes?.[0] ?? "ReadWriteOnce"] ?? 1 };
  if (source.volumeMode === "Block") return { block: {}, accessMode };
  const group = pod.spec.securityContext?.fsGroup;
  const takesGroup = group !== undefined && driver.capabilities.has(csiCapability.mountGroup);
  const mount = {
    fsType: source.csi?.fsType,
    mountFlags: source.mountOptions,
    volumeMountGroup: takesGroup ? String(group) : "",
  };
  return { mount, accessMode };
}

const podInfo = ({ pod }: VolumeContext, isEphemeral: boolean) => ({
  "csi.storage.k8s.io/pod.name": pod.metadata.name,
  "csi.storage.k8s.io/pod.namespace": pod.metadata.namespace,
  "csi.storage.k8s.io/pod.uid": pod.metadata.uid,
  "csi.storage.k8s.io/serviceAccount.name": pod.spec.serviceAccountName ?? "",
  "csi.storage.k8s.io/ephemeral": String(isEphemeral),
});

async function secretData(context: VolumeContext, ref: SecretReference | undefined): Promise<Record<string, string>> {
  if (!ref?.name) return {};
  const secret = await context.sources.secret(ref.namespace ?? "", ref.name);
  if (!secret) throw new Error(`secret "${ref.name}" not found`);
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(entries.map(([key, base64]) => [key, Buffer.from(base64, "base64").toString()]));
}

interface Publication {
  readonly driver: CsiDriver;
  readonly source: PersistentSource;
  readonly settings: CsiDriverSettings;
  readonly target: string;
}

/** Does nothing if the driver handles the group itself, or if its policy excludes this volume. */
async function giveToPod({ pod }: VolumeContext, { driver, source, settings, target }: Publication): Promise<void> {
  const { fsGroup: group, fsGroupChangePolicy: policy = "Always" } = pod.spec.securityContext ?? {};
  const isOurs = !driver.capabilities.has(csiCapability.mountGroup) && source.volumeMode !== "Block";
  const isWritable =
    !source.csi?.readOnly && (source.accessModes ?? []).some((mode) => mode.startsWith("ReadWriteOnce"));
  const fits =
    settings.fsGroupPolicy === "File" ||
    (settings.fsGroupPolicy !== "None" && isWritable && Boolean(source.csi?.fsType));
  if (group !== undefined && isOurs && fits) await giveToGroup(target, { group, policy });
}
