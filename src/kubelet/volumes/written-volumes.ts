import { chmod, mkdir } from "node:fs/promises";
import { allContainers } from "#api/core/pod-containers.ts";
import type { Volume } from "#api/core/volume.ts";
import { type Payload, writeAtomically } from "./atomic-writer.ts";
import { giveToGroup } from "./ownership.ts";
import { configMapPayload, downwardPayload, projectedPayload, secretPayload } from "./payload.ts";
import { type MountedVolume, type VolumeContext, type VolumePlugin, volumePath } from "./plugin.ts";

/** Volumes whose files we write ourselves from objects of the API, and write again when those change. */

export const configMapVolume: VolumePlugin = {
  name: "kubernetes.io/configmap",
  refreshes: true,
  handles: (volume) => volume.configMap !== undefined,
  async mount(context, volume) {
    const { configMap } = volume;
    const payload = configMap ? await configMapPayload(context, configMap, configMap.defaultMode) : noFiles;
    return await write(context, volume, { path: volumePath(context.podDir, this.name, volume.name), payload });
  },
};

export const secretVolume: VolumePlugin = {
  name: "kubernetes.io/secret",
  refreshes: true,
  handles: (volume) => volume.secret !== undefined,
  async mount(context, volume) {
    const { secretName: name = "", ...source } = volume.secret ?? { defaultMode: 0 };
    const payload = await secretPayload(context, { name, ...source }, source.defaultMode);
    return await write(context, volume, { path: volumePath(context.podMemoryDir, this.name, volume.name), payload });
  },
};

export const downwardApiVolume: VolumePlugin = {
  name: "kubernetes.io/downward-api",
  refreshes: true,
  handles: (volume) => volume.downwardAPI !== undefined,
  async mount(context, volume) {
    const { items = [], defaultMode } = volume.downwardAPI ?? { defaultMode: 0 };
    const payload = downwardPayload(context, items, defaultMode);
    return await write(context, volume, { path: volumePath(context.podDir, this.name, volume.name), payload });
  },
};

export const projectedVolume: VolumePlugin = {
  name: "kubernetes.io/projected",
  refreshes: true,
  handles: (volume) => volume.projected !== undefined,
  async mount(context, volume) {
    const payload = volume.projected ? await projectedPayload(context, volume.projected) : noFiles;
    return await write(context, volume, { path: volumePath(context.podMemoryDir, this.name, volume.name), payload });
  },
};

const noFiles: Payload = new Map();

interface Written {
  readonly path: string;
  readonly payload: Payload;
}

async function write(context: VolumeContext, volume: Volume, { path, payload }: Written): Promise<MountedVolume> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777);
  await makeMountPoints(context, volume.name, path);
  const group = context.pod.spec.securityContext?.fsGroup;
  await writeAtomically(path, payload, {
    nowMs: context.clock.now(),
    async prepare() {
      if (group !== undefined) await giveToGroup(path, { group, readOnly: true, policy: "Always" });
    },
  });
  return { path, readOnly: true };
}

/** A container may mount another volume inside this one, which it can only read: the place must be there before. */
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
