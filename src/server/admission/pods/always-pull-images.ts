import { allContainers, containersAt } from "#api/core/pod/pod-containers.ts";
import { Pod } from "#api/core/pod.ts";
import { faultsIn } from "#api/cursor.ts";
import { isWriteOf, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** Nobody runs an image that is already on the node without the right to pull it. */
export const alwaysPullImages: AdmissionPlugin = {
  name: "AlwaysPullImages",
  runs: "asked",
  appliesTo: (request) => isWriteOf(Pod, request),

  mutate(request) {
    const pod = podWithNewImages(request);
    if (!pod) return;
    for (const container of allContainers(pod.spec)) container.imagePullPolicy = "Always";
    for (const { image } of pod.spec.volumes ?? []) if (image) image.pullPolicy = "Always";
  },

  /** Other plugins may have changed it again. */
  validate(request) {
    const pod = podWithNewImages(request);
    if (!pod) return;
    const [fault] = faultsIn(pod, (at) => {
      for (const container of containersAt(at.field("spec"))) {
        if (container.value.imagePullPolicy !== "Always") container.field("imagePullPolicy").oneOf(["Always"]);
      }
      at.field("spec").each("volumes", (volume) =>
        volume.on("image", (image) => {
          if (image.value.pullPolicy !== "Always") image.field("pullPolicy").oneOf(["Always"]);
        }),
      );
    });
    if (fault) throw refusal(request, `${fault.path}: ${fault.message}`);
  },
};

/** The pod of the request, unless it is an update that brings no new image. */
function podWithNewImages(request: AdmissionRequest): Pod | undefined {
  const [pod, old] = [objectOf(Pod, request), oldObjectOf(Pod, request)];
  if (!pod || !old) return pod;
  const known = new Set(allContainers(old.spec).map(({ image }) => image));
  return allContainers(pod.spec).every(({ image }) => known.has(image)) ? undefined : pod;
}
