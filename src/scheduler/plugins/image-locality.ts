import { type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { type Snapshot } from "../snapshot.ts";

const mebibyte = 1024 * 1024;
const minBytes = 23 * mebibyte;
const maxBytesPerContainer = 1000 * mebibyte;

interface Wanted {
  readonly images: readonly string[];
  readonly snapshot: Snapshot;
}

/** Prefers nodes that have the pod's images already; one that few nodes have counts less, so that they are not flooded. */
export const imageLocality: SchedulerPlugin = {
  name: "ImageLocality",
  weight: 1,

  preScore(pod, snapshot): Wanted {
    const images = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ image }) =>
      fullName(image ?? ""),
    );
    return { images, snapshot };
  },

  score(_pod, { images }, state) {
    const { images: wanted, snapshot } = state as Wanted;
    const total = Math.max(snapshot.nodes.length, 1);
    let bytes = 0;
    for (const name of wanted) bytes += ((images.get(name) ?? 0) * snapshot.imageSpread(name)) / total;
    const most = maxBytesPerContainer * Math.max(wanted.length, 1);
    const within = Math.min(Math.max(bytes, minBytes), most);
    return Math.floor((maxScore * (within - minBytes)) / (most - minBytes));
  },
};

/** Nodes list their images with a tag. */
const fullName = (image: string): string =>
  image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image;
