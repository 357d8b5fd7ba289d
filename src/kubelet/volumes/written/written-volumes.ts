import { chmod, chown, mkdir } from "node:fs/promises";
import { allContainers } from "#api/core/pod/pod-containers.ts";
import type { Volume } from "#api/core/volume/volume.ts";
import { type VolumeContext, type VolumePlugin, volumePath } from "../plugin.ts";
import { type Payload, writeAtomically } from "./atomic-writer.ts";
import { configMapPayload, downwardPayload, projectedPayload, secretPayload } from "./payload.ts";
import type { WriteBudgets, WriteMeter } from "./write-budget.ts";

/** Volumes whose files we write from objects of the API, and write again when those change. */

export const configMapVolume = writtenVolume({
  name: "kubernetes.io/configmap",
  medium: "disk",
  handles: (volume) => volume.configMap !== undefined,
  async payload(context, { configMap }, meter) {
    return configMap ? await configMapPayload(context, configMap, { mode: configMap.defaultMode, meter }) : noFiles;
  },
});

export const secretVolume = writtenVolume({
  name: "kubernetes.io/secret",
  medium: "memory",
  handles: (volume) => volume.secret !== undefined,
  async payload(context, { secret }, meter) {
    if (!secret) return noFiles;
    const { secretName: name = "", defaultMode: mode, ...source } = secret;
    return await secretPayload(context, { name, ...source }, { mode, meter });
  },
});

export const downwardApiVolume = writtenVolume({
  name: "kubernetes.io/downward-api",
  medium: "disk",
  handles: (volume) => volume.downwardAPI !== undefined,
  async payload(context, { downwardAPI }, meter) {
    return downwardAPI
      ? downwardPayload(context, downwardAPI.items ?? [], { mode: downwardAPI.defaultMode, meter })
      : noFiles;
  },
});

export const projectedVolume = writtenVolume({
  name: "kubernetes.io/projected",
  medium: "memory",
  handles: (volume) => volume.projected !== undefined,
  async payload(context, { projected }, meter) {
    return projected ? await projectedPayload(context, projected, meter) : noFiles;
  },
});

const noFiles: Payload = new Map();

interface WrittenKind {
  readonly name: string;
  readonly medium: keyof WriteBudgets;
  handles(volume: Volume): boolean;
  payload(context: VolumeContext, volume: Volume, meter: WriteMeter): Promise<Payload>;
}

function writtenVolume({ name, medium, handles, payload }: WrittenKind): VolumePlugin {
  const pathOf = ({ podDir, podMemoryDir }: VolumeContext, volume: Volume) =>
    volumePath(medium === "memory" ? podMemoryDir : podDir, name, volume.name);
  const files = (context: VolumeContext, volume: Volume) =>
    payload(context, volume, context.budgets[medium].count(volume.name));
  const refresh = async (context: VolumeContext, volume: Volume) => {
    const group = context.pod.spec.securityContext?.fsGroup;
    await writeAtomically(pathOf(context, volume), await files(context, volume), { nowMs: context.clock.now(), group });
  };
  return {
    name,
    handles,
    files,
    async setUp(context, volume) {
      const path = pathOf(context, volume);
      await makeRoot(context, volume, path);
      await refresh(context, volume);
      return { path, readOnly: true };
    },
    refresh,
  };
}

async function makeRoot(context: VolumeContext, volume: Volume, path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true });
  // Content in memory does not survive a reboot, but the pod may.
  if (!context.isNew && made === undefined) return;
  const group = context.pod.spec.securityContext?.fsGroup;
  if (group !== undefined) await chown(path, 0, group);
  await chmod(path, group === undefined ? 0o777 : 0o2777);
  await makeMountPoints(context, volume.name, path);
}

/** Creates mount points for volumes that a container mounts inside this one, which it cannot write to itself. */
async function makeMountPoints({ pod }: VolumeContext, name: string, path: string): Promise<void> {
  for (const { volumeMounts = [] } of allContainers(pod.spec)) {
    const outer = volumeMounts.filter((mount) => mount.name === name && !mount.subPath && !mount.subPathExpr);
    for (const { mountPath } of outer) {
      const prefix = mountPath.endsWith("/") ? mountPath : `${mountPath}/`;
      for (const inner of volumeMounts) {
        const place = inner.mountPath.startsWith(prefix) ? inner.mountPath.slice(prefix.length) : "";
        if (place !== "" && !place.split("/").includes("..")) await mkdir(`${path}/${place}`, { recursive: true });
      }
    }
  }
}
