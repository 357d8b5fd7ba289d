import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { regionLabel, zoneLabel } from "#api/well-known.ts";
import { type Informers } from "#runtime/informer.ts";
import { isAbout, objectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";

const copied = [zoneLabel, regionLabel];

/** Labels a pod with the zone and the region of its node, when it is created on a node or bound to one. */
export function topologyLabels({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const nodes = informers.of(Node);
  return {
    name: "PodTopologyLabels",
    appliesTo: (request) =>
      isAbout(Pod, request) &&
      (request.subresource === "binding" || (request.subresource === "" && request.operation === "CREATE")),

    mutate(request) {
      const pod = objectOf(Pod, request);
      const labels = pod?.spec.nodeName ? nodes.get({ name: pod.spec.nodeName })?.metadata.labels : undefined;
      if (!pod || !labels) return;
      const found = copied.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]] as const]));
      if (found.length > 0) pod.metadata.labels = { ...pod.metadata.labels, ...Object.fromEntries(found) };
    },
  };
}
