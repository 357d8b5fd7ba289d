import { type Pod } from "#api/core/pod.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { type Snapshot } from "../snapshot.ts";

const mebibyte = 1024 * 1024;
const minBytes = 23 * mebibyte;
const maxBytesPerContainer = 1000 * mebibyte;

interface Wanted {
  readonly images: readonly string[];
  readonly containers: number;
  readonly snapshot: Snapshot;
}

/** Prefers nodes that have the pod's images. An image on few nodes counts less, so that these are not flooded. */
export const imageLocality: SchedulerPlugin = {
  name: "ImageLocality",
  weight: 1,

  looksAt: (pod) => [containersOf(pod), imagesOf(pod)],

  /** How many nodes of how many have each image; undefined if no node has any. */
  basis(pod, snapshot) {
    const spread = imagesOf(pod).map((image) => snapshot.imageSpread(image));
    return spread.some((nodes) => nodes > 0) ? `${spread.join()}/${snapshot.nodes.length}` : "";
  },

  preScore(pod, snapshot): Wanted | undefined {
    const images = imagesOf(pod).filter((image) => snapshot.imageSpread(image) > 0);
    return images.length > 0 ? { images, containers: containersOf(pod), snapshot } : undefined;
  },

  score(_pod, { images }, state) {
    const { images: wanted, containers, snapshot } = state as Wanted;
    const total = snapshot.nodes.length;
    let bytes = 0;
    for (const name of wanted) bytes += Math.floor((images.get(name) ?? 0) * (snapshot.imageSpread(name) / total));
    const most = maxBytesPerContainer * containers;
    const within = Math.min(Math.max(bytes, minBytes), most);
    return Math.floor((maxScore * (within - minBytes)) / (most - minBytes));
  },
};

const containersOf = ({ spec }: Pod): number => spec.containers.length + (spec.initContainers?.length ?? 0);

/** The images of all containers and volumes, in the form in which nodes list them. */
function imagesOf({ spec }: Pod): string[] {
  const images = spec.containers.map(({ image }) => fullName(image ?? ""));
  for (const { image } of spec.initContainers ?? []) images.push(fullName(image ?? ""));
  for (const { image } of spec.volumes ?? []) if (image) images.push(fullName(image.reference ?? ""));
  return images;
}

/** Adds the tag, because nodes list their images with one. */
const fullName = (image: string): string =>
  image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image;
