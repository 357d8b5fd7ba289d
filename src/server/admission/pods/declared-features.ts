import { Node } from "#api/core/node.ts";
import { isSidecar } from "#api/core/pod/pod-resources.ts";
import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { Pod } from "#api/core/pod.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informers } from "#runtime/informer.ts";
import { isAbout, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** What a change of a running pod needs of the kubelet, by the name under which the node declares it. */
const needs: readonly { readonly feature: string; isNeeded(spec: PodSpec, old: PodSpec): boolean }[] = [
  {
    feature: "InPlacePodVerticalScalingInitContainers",
    isNeeded: (spec, old) =>
      (old.initContainers ?? []).some(
        (container, index) =>
          !isSidecar(container) && !equal(container.resources, spec.initContainers?.[index]?.resources),
      ),
  },
  {
    feature: "InPlacePodLevelResourcesVerticalScaling",
    isNeeded: (spec, old) => !equal(spec.resources, old.resources),
  },
];

/** Refuses changes of running pods for which their node declares no support. */
export function declaredFeatures({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const nodes = informers.of(Node);
  return {
    name: "NodeDeclaredFeatureValidator",
    appliesTo: (request) =>
      isAbout(Pod, request) && request.operation === "UPDATE" && ["", "resize"].includes(request.subresource),

    validate(request) {
      const [pod, old] = [objectOf(Pod, request), oldObjectOf(Pod, request)];
      if (!pod?.spec.nodeName || !old || pod.metadata.generation === old.metadata.generation) return;
      const { nodeName } = pod.spec;
      const needed = needs.filter(({ isNeeded }) => isNeeded(pod.spec, old.spec)).map(({ feature }) => feature);
      if (needed.length === 0) return;
      const node = nodes.get({ name: nodeName });
      if (!node) throw refusal(request, `node ${JSON.stringify(nodeName)} not found`);
      const missing = needed.filter((feature) => !node.status.declaredFeatures?.includes(feature));
      if (missing.length === 0) return;
      const why = `pod update requires features ${missing.join(", ")} which are not available on node ${JSON.stringify(nodeName)}`;
      throw refusal(request, why);
    },
  };
}
