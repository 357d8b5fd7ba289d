import { type Container } from "#api/core/container/container.ts";
import { isSidecar, podRequests } from "#api/core/pod/pod-resources.ts";
import { type Pod } from "#api/core/pod.ts";
import { own } from "#lib/data/own.ts";
import { milliValue } from "./milli-value.ts";

/** What each pod requests of a resource, in thousandths, by name; throws if one has no request. */
export function requestsOf(pods: readonly Pod[], resource: string, container: string): Map<string, bigint> {
  return new Map(pods.map((pod) => [pod.metadata.name, requestOf(pod, resource, container)]));
}

function requestOf({ metadata: { name }, spec }: Pod, resource: string, container: string): bigint {
  const ofPod = Object.keys(spec.resources?.requests ?? {}).length > 0;
  if (ofPod && !container) {
    const request = own(podRequests(spec), resource);
    if (request === undefined) throw new Error(`missing pod-level request for ${resource} in Pod ${name}`);
    return milliValue(request);
  }
  const running = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
  const wanted = container ? running.filter((one) => one.name === container) : running;
  if (container && wanted.length === 0) throw new Error(`container ${container} not found in Pod ${name}`);
  return wanted.reduce((sum, one) => sum + containerRequest(one, resource, name), 0n);
}

function containerRequest({ name, resources }: Pick<Container, "name" | "resources">, resource: string, pod: string) {
  const request = own(resources?.requests ?? {}, resource);
  if (request === undefined) throw new Error(`missing request for ${resource} in container ${name} of Pod ${pod}`);
  return milliValue(request);
}
