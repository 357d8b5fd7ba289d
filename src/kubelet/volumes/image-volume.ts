import { mkdir } from "node:fs/promises";
import { isMountPoint } from "#lib/mounts.ts";
import { runCommand } from "#lib/processes.ts";
import type { ImagePuller } from "../images/puller.ts";
import { type VolumePlugin, volumePath } from "./plugin.ts";

export interface ImageVolumeDeps {
  readonly puller: ImagePuller;
  /** containerd's socket, as a path. */
  readonly socket: string;
  readonly snapshotter: string;
}

/** The files of an image, to be read. containerd unpacks and mounts them. */
export const imageVolume = ({ puller, socket, snapshotter }: ImageVolumeDeps): VolumePlugin => {
  const images = ["--address", socket, "--namespace", "k8s.io", "images"];
  return {
    name: "kubernetes.io/image",
    handles: (volume) => volume.image !== undefined,

    async mount(context, volume) {
      const { pod, sources } = context;
      const { reference: image = "", pullPolicy: policy = "IfNotPresent" } = volume.image ?? {};
      const path = volumePath(context.podDir, this.name, volume.name);
      await mkdir(path, { recursive: true });
      if (await isMountPoint(path)) return { path, readOnly: true };
      const names = (pod.spec.imagePullSecrets ?? []).map(({ name = "" }) => name);
      const found = await Promise.all(names.map((name) => sources.secret(pod.metadata.namespace ?? "", name)));
      const secrets = found.filter((secret) => secret !== undefined);
      const outcome = await puller.ensure({ image, policy, podUid: pod.metadata.uid ?? "", secrets });
      if (!outcome.ok) throw new Error(`${outcome.reason}: ${outcome.message}`);
      const name = outcome.image.tags[0] ?? outcome.image.digests[0] ?? image;
      await runCommand("ctr", [...images, "mount", "--snapshotter", snapshotter, name, path]);
      return { path, readOnly: true };
    },

    async unmount(path) {
      if (await isMountPoint(path)) await runCommand("ctr", [...images, "unmount", "--rm", path]);
    },
  };
};
