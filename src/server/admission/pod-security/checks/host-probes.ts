import { type AnyContainer } from "#api/core/pod/pod-containers.ts";
import { type Check, containersNamed, namesOf, plural, quoted, sortedOnce } from "./check.ts";

/** The kubelet sends these requests, so a host other than the pod lets a user reach what only the node can. */
export const hostProbes: Check = {
  id: "hostProbesAndHostLifecycle",
  level: "baseline",
  versions: [
    {
      since: 34,
      find(pod) {
        const bad = sortedOnce(namesOf(pod, (container) => hostsOf(container).length > 0));
        if (bad.length === 0) return undefined;
        const hosts = sortedOnce(pod.containers.flatMap(hostsOf));
        const uses = plural(bad.length, "uses", "use");
        const what = plural(hosts.length, "probe or lifecycle host");
        return {
          reason: "probe or lifecycle host",
          detail: `${containersNamed(bad)} ${uses} ${what} ${quoted(hosts)}`,
        };
      },
    },
  ],
};

function hostsOf({ livenessProbe, readinessProbe, startupProbe, lifecycle }: AnyContainer): string[] {
  const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop];
  return handlers.flatMap((handler) => [handler?.httpGet?.host || [], handler?.tcpSocket?.host || []].flat());
}
