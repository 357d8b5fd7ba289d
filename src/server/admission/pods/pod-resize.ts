import { Node } from "#api/core/node.ts";
import { podRequests } from "#api/core/pod/pod-resources.ts";
import { Pod } from "#api/core/pod.ts";
import { compareQuantities, quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import { StatusError } from "#api/status.ts";
import { type Informers } from "#runtime/informer.ts";
import { isAbout, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** Refuses to resize a pod beyond what its node has, or on a node that cannot do it. */
export function podResize({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const nodes = informers.of(Node);
  return {
    name: "PodResizeValidator",
    appliesTo: (request) => request.subresource === "resize" && isAbout(Pod, request) && request.operation === "UPDATE",

    validate(request) {
      const [pod, old] = [objectOf(Pod, request), oldObjectOf(Pod, request)];
      if (!pod?.spec.nodeName || pod.metadata.generation === old?.metadata.generation) return;
      const { nodeName } = pod.spec;
      const node = nodes.get({ name: nodeName });
      if (!node) throw refusal(request, `node ${JSON.stringify(nodeName)} not found`);
      const os = node.metadata.labels?.["kubernetes.io/os"] ?? "linux";
      if (os !== "linux") {
        const why = `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(os)}`;
        throw withCause(request, why, "UnsupportedPlatform");
      }
      const missing = findMissing(pod, node);
      if (missing.length === 0) return;
      const why = `node didn't have enough allocatable resources: ${missing.join("; ")}`;
      throw withCause(request, why, "NodeCapacity");
    },
  };
}

/** How much the units in which a resource is shown are. */
const units = { cpu: quantityMilliValue, memory: quantityValue };

function findMissing({ spec }: Pod, { status }: Node): string[] {
  const requests = podRequests(spec);
  return (["cpu", "memory"] as const).flatMap((name) => {
    const [requested, allocatable] = [requests[name] ?? "0", status.allocatable?.[name] ?? "0"];
    if (compareQuantities(requested, allocatable) <= 0) return [];
    return `${name}, requested: ${units[name](requested)}, allocatable: ${units[name](allocatable)}`;
  });
}

function withCause(request: AdmissionRequest, why: string, reason: string): StatusError {
  const { message, details } = refusal(request, why);
  return new StatusError("Forbidden", message, { ...details, causes: [{ reason }] });
}
