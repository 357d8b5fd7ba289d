import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Volume } from "#api/core/volume/volume.ts";
import type { CSIDriver } from "#api/storage/csi-driver.ts";
import { isThere } from "#lib/fs/is-there.ts";
import { isMountPoint } from "#lib/fs/mounts.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { isGone } from "#lib/text/error-code.ts";
import type { PersistentPlugin } from "../claim.ts";
import { giveToGroup } from "../ownership.ts";
import {
  type ClaimedVolume,
  type CsiSource,
  type Growth,
  type MountedVolume,
  type PersistentSource,
  type VolumeContext,
  type VolumePlugin,
  volumePath,
} from "../plugin.ts";
import { csiCalls, csiCapability, type VolumeCapability } from "./csi-calls.ts";
import type { CsiDriver, CsiDrivers } from "./csi-drivers.ts";
import { expandOnNode } from "./csi-growth.ts";
import { secretData } from "./csi-secrets.ts";
import { tokensOf } from "./csi-tokens.ts";
import { type MountRecord, readRecord, recordFile, type VolumesInUse, volumeIn } from "./volumes-in-use.ts";

/** The settings in a CSIDriver object. */
export type CsiDriverSettings = CSIDriver["spec"];
export interface CsiDeps {
  readonly drivers: CsiDrivers;
  /** The directory in which volumes are staged, once for all pods of the node. */
  readonly stagingDir: string;
  readonly inUse: Pick<VolumesInUse, "use" | "release">;
  /** Tells the cluster that a volume has grown. */
  grown(growth: Growth): Promise<void>;
  /** Undefined if nobody describes the driver. */
  settings(driver: string): Promise<CsiDriverSettings | undefined>;
}

const pluginName = "kubernetes.io/csi";
const timeoutMs = 120_000;

/** Ephemeral volumes of a driver for one pod, and the unmounting of all CSI volumes. */
export const csiVolume = (deps: CsiDeps): VolumePlugin => ({
  name: pluginName,
  handles: (volume) => volume.csi !== undefined,

  setUp: (context, volume) => publish(deps, context, inlineVolume(context, volume)),
  refresh: (context, volume) => republish(deps, context, inlineVolume(context, volume)),
  unmount: (path) => unpublish(deps, path),
});

function inlineVolume({ pod: { metadata } }: VolumeContext, volume: Volume): Wanted {
  if (!volume.csi) throw new Error("the volume has no csi");
  const { driver, readOnly = false, fsType = "", volumeAttributes = {}, nodePublishSecretRef } = volume.csi;
  const volumeHandle = ephemeralHandle(metadata.uid, volume.name);
  const base = { driver, volumeHandle, readOnly, fsType, volumeAttributes };
  const { namespace } = metadata;
  const csi = nodePublishSecretRef ? { ...base, nodePublishSecretRef: { ...nodePublishSecretRef, namespace } } : base;
  return { csi, source: { csi }, name: volume.name, isEphemeral: true };
}

/** Persistent volumes of a driver. */
export const csiPersistent = (deps: CsiDeps): PersistentPlugin => ({
  handles: ({ csi }) => csi !== undefined,
  async mount(context, claimed) {
    const { name, spec } = claimed;
    if (!spec.csi) throw new Error("the volume has no csi");
    const wanted = { csi: spec.csi, source: spec, name, isEphemeral: false };
    const { driver, volumeHandle } = spec.csi;
    return await deps.drivers.oneAtATime(driver, volumeHandle, async () => {
      const mounted = await publish(deps, context, wanted);
      await grow(deps, context, claimed);
      return mounted;
    });
  },
  async refresh(context, claimed) {
    const { name, spec } = claimed;
    const { csi } = spec;
    if (!csi) return;
    await deps.drivers.oneAtATime(csi.driver, csi.volumeHandle, async () => {
      await republish(deps, context, { csi, source: spec, name, isEphemeral: false });
      await grow(deps, context, claimed);
    });
  },
});

async function grow(
  deps: CsiDeps,
  context: VolumeContext,
  { name, spec: source, growth }: ClaimedVolume,
): Promise<void> {
  const record = growth && (await readRecord(volumePath(context.podDir, pluginName, name)));
  if (!record || record.isWaiting) return;
  const driver = deps.drivers.get(record.driver);
  const { target, staging } = record;
  const capability = capabilityOf(driver, context, source);
  const isDone = await expandOnNode(context, { driver, source, capability, target, staging, growth });
  if (isDone) await deps.grown(growth);
}

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
  checkMode(csi.driver, settings, isEphemeral ? "Ephemeral" : "Persistent");
  const dir = volumePath(context.podDir, pluginName, name);
  const target = source.volumeMode === "Block" ? `${dir}/device` : `${dir}/mount`;
  const readOnly = csi.readOnly ?? false;
  if (await isPublished(dir, target)) return { path: target, readOnly };
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const isAttached = !isEphemeral && settings?.attachRequired !== false;
  const record: MountRecord = { driver: csi.driver, volumeId: csi.volumeHandle, target, isAttached };
  const publishContext = isAttached ? await untilAttached(deps, record, dir) : {};
  const needsStage = !isEphemeral && driver.capabilities.has(csiCapability.stage);
  const staging = needsStage ? await useStaging(deps, csi, dir) : undefined;
  // Written before the calls, so that what a crash leaves half done can be undone.
  await writeRecord(dir, { ...record, ...(staging && { staging }) });
  const volumeCapability = capabilityOf(driver, context, source);
  const call: NodeCall = { driver, staging, common: { volumeId: csi.volumeHandle, volumeCapability, publishContext } };
  await stage(context, csi, call);
  const request = await publishRequest(context, wanted, { ...call, settings, target });
  await driver.client.call(csiCalls.publish, request, { timeoutMs });
  await giveToPod(context, { driver, source, settings, target });
  return { path: target, readOnly };
}

/** Publishes a volume again, for drivers that want to renew its content. */
async function republish(deps: CsiDeps, context: VolumeContext, wanted: Wanted): Promise<void> {
  const { csi, source, name } = wanted;
  const settings = await deps.settings(csi.driver);
  const dir = volumePath(context.podDir, pluginName, name);
  const record = settings?.requiresRepublish ? await readRecord(dir) : undefined;
  if (!record || record.isWaiting) return;
  const driver = deps.drivers.get(csi.driver);
  const publishContext = record.isAttached ? await deps.inUse.use(volumeIn(record), dir) : {};
  const common = {
    volumeId: csi.volumeHandle,
    volumeCapability: capabilityOf(driver, context, source),
    publishContext,
  };
  const call = { driver, staging: record.staging, common, settings, target: record.target };
  await driver.client.call(csiCalls.publish, await publishRequest(context, wanted, call), { timeoutMs });
}

interface PublishCall extends NodeCall {
  readonly settings: CsiDriverSettings | undefined;
  readonly target: string;
}

async function publishRequest(context: VolumeContext, { csi, isEphemeral }: Wanted, call: PublishCall) {
  const { settings, staging, target, common } = call;
  const tokens = settings ? await tokensOf(context, settings) : {};
  const areSecret = settings?.serviceAccountTokenInSecrets ?? false;
  return {
    ...common,
    stagingTargetPath: staging,
    targetPath: target,
    readonly: csi.readOnly,
    secrets: { ...(await secretData(context, csi.nodePublishSecretRef)), ...(areSecret ? tokens : {}) },
    volumeContext: {
      ...csi.volumeAttributes,
      ...(settings?.podInfoOnMount ? podInfo(context, isEphemeral) : {}),
      ...(areSecret ? {} : tokens),
    },
  };
}

/** As upstream: a driver that nobody describes has persistent volumes only. */
function checkMode(driver: string, settings: CsiDriverSettings | undefined, mode: "Ephemeral" | "Persistent"): void {
  const modes = settings?.volumeLifecycleModes ?? ["Persistent"];
  if (modes.includes(mode)) return;
  const why = settings ? `only supports ${JSON.stringify(modes)}` : "no CSIDriver object";
  throw new Error(`volume mode "${mode}" not supported by driver ${driver} (${why})`);
}

/** The record comes first: whoever removes the pod while it waits must also take back that the volume is in use. */
async function untilAttached({ inUse }: CsiDeps, record: MountRecord, dir: string): Promise<Record<string, string>> {
  // One from before a failure knows what was staged.
  if (!(await readRecord(dir))) await writeRecord(dir, { ...record, isWaiting: true });
  return await inUse.use(volumeIn(record), dir);
}

const writeRecord = (dir: string, record: MountRecord): Promise<void> =>
  replaceFile(`${dir}/${recordFile}`, JSON.stringify(record));

interface NodeCall {
  readonly driver: CsiDriver;
  readonly staging: string | undefined;
  readonly common: {
    readonly volumeId: string;
    readonly volumeCapability: VolumeCapability;
    readonly publishContext: Record<string, string>;
  };
}

/** Stages a volume for all pods of the node, once since the machine started: mounts do not outlive that. */
async function stage(context: VolumeContext, csi: CsiSource, { driver, staging, common }: NodeCall): Promise<void> {
  if (!staging) return;
  const mark = `${dirname(staging)}/staged`;
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
  if ((await readFile(mark, "utf8").catch(() => "")) === boot) return;
  const secrets = await secretData(context, csi.nodeStageSecretRef);
  const request = { ...common, stagingTargetPath: staging, secrets, volumeContext: csi.volumeAttributes };
  await driver.client.call(csiCalls.stage, request, { timeoutMs });
  await writeFile(mark, boot);
}

const isPublished = async (dir: string, target: string): Promise<boolean> =>
  (await isThere(`${dir}/${recordFile}`)) && (await isThere(target)) && (await isMountPoint(target));

/** Records that this pod uses the staged volume, and returns its path. */
async function useStaging({ stagingDir }: CsiDeps, csi: CsiSource, dir: string): Promise<string> {
  const home = `${stagingDir}/${csi.driver}/${createHash("sha256").update(csi.volumeHandle).digest("hex")}`;
  await mkdir(`${home}/users`, { recursive: true });
  await mkdir(`${home}/globalmount`, { recursive: true, mode: 0o750 });
  await writeFile(`${home}/users/${userOf(dir)}`, dir);
  return `${home}/globalmount`;
}
const userOf = (dir: string): string => createHash("sha256").update(dir).digest("hex");

async function unpublish(deps: CsiDeps, dir: string): Promise<void> {
  const record = await readRecord(dir);
  if (record) await deps.drivers.oneAtATime(record.driver, record.volumeId, () => undo(deps, record, dir));
}

/** Every step can be repeated, because a later one may fail. */
async function undo({ drivers, inUse }: CsiDeps, record: MountRecord, dir: string): Promise<void> {
  const { volumeId, target, staging } = record;
  if (!record.isWaiting) {
    const { client } = drivers.get(record.driver);
    await client.call(csiCalls.unpublish, { volumeId, targetPath: target }, { timeoutMs });
    const home = staging ? dirname(staging) : "";
    if (staging) await rm(`${home}/users/${userOf(dir)}`, { force: true });
    if (staging && (await readdir(`${home}/users`).catch(() => [])).length === 0) {
      await client.call(csiCalls.unstage, { volumeId, stagingTargetPath: staging }, { timeoutMs });
      // Fails if the driver has left something there, which may be the content of the volume.
      await rmdir(staging).catch(ignoreGone);
      await rm(home, { recursive: true, force: true });
    }
  }
  if (record.isAttached) await inUse.release(volumeIn(record), dir);
  await rm(`${dir}/${recordFile}`);
}

function ignoreGone(error: unknown): void {
  if (!isGone(error)) throw error;
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

interface Publication {
  readonly driver: CsiDriver;
  readonly source: PersistentSource;
  readonly settings: CsiDriverSettings | undefined;
  readonly target: string;
}

/** Does nothing if the driver handles the group itself, or if its policy excludes this volume. */
async function giveToPod({ pod }: VolumeContext, { driver, source, settings, target }: Publication): Promise<void> {
  const { fsGroup: group, fsGroupChangePolicy: policy = "Always" } = pod.spec.securityContext ?? {};
  const isOurs = !driver.capabilities.has(csiCapability.mountGroup) && source.volumeMode !== "Block";
  const isWritable =
    !source.csi?.readOnly && (source.accessModes ?? []).some((mode) => mode.startsWith("ReadWriteOnce"));
  const fits =
    settings?.fsGroupPolicy === "File" ||
    (settings?.fsGroupPolicy !== "None" && isWritable && Boolean(source.csi?.fsType));
  if (group !== undefined && isOurs && fits) await giveToGroup(target, { group, policy });
}
