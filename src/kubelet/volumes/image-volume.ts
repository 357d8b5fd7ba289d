import { mkdir } from "node:fs/promises";
import type { Image } from "#kubelet/runtime/runtime.ts";
import { isMountPoint } from "#lib/fs/mounts.ts";
import { runCommand } from "#lib/process/processes.ts";
import { type VolumePlugin, volumePath } from "./plugin.ts";

export interface ImageMountDeps {
  /** containerd's socket, as a path. */
  readonly socket: string;
  readonly snapshotter: string;
}
/** Mounts the files of images as directories. */
export interface ImageMounts {
  /** Idempotent. */
  mount(image: Image, path: string): Promise<void>;
  unmount(path: string): Promise<void>;
}

/** Uses `ctr` to mount images, because containerd before 2.1 cannot mount them into containers itself. */
export function ctrImageMounts({ socket, snapshotter }: ImageMountDeps): ImageMounts {
  const images = (command: string, flags: readonly string[], operands: readonly string[]) => {
    const base = ["--address", socket, "--namespace", "k8s.io", "images", command];
    return runCommand("ctr", [...base, "--snapshotter", snapshotter, ...flags], { operands });
  };
  const unmount = async (path: string) => {
    await images("unmount", ["--rm"], [path]);
  };
  return {
    async mount({ id, tags, digests }, path) {
      await mkdir(path, { recursive: true });
      if (await isMountPoint(path)) return;
      const name = tags[0] ?? digests[0] ?? id;
      try {
        await images("mount", [], [name, path]);
      } catch {
        // A mount that was lost in a reboot has left its snapshot.
        await unmount(path);
        await images("mount", [], [name, path]);
      }
    },
    unmount,
  };
}

const pluginName = "kubernetes.io/image";

export const imageVolumePath = (podDir: string, volume: string): string => volumePath(podDir, pluginName, volume);

/** The files of an image, read-only. They are mounted when a container that needs them starts. */
export const imageVolume = (mounts: ImageMounts): VolumePlugin => ({
  name: pluginName,
  handles: (volume) => volume.image !== undefined,

  async setUp({ podDir }, { name }) {
    const path = imageVolumePath(podDir, name);
    await mkdir(path, { recursive: true });
    return { path, readOnly: true };
  },
  unmount: (path) => mounts.unmount(path),
});
