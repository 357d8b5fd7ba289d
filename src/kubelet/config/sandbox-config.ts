import { allContainers, lastingContainers } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { podHostname, type ResolverConfig } from "#kubelet/network/pod-dns.ts";
import { overheadResources, sandboxResources } from "#kubelet/resources/linux-resources.ts";
import type { Namespaces, PortMapping, SandboxConfig, SecurityContext } from "#kubelet/runtime/runtime.ts";
import { sandboxAnnotations, sandboxLabels } from "./runtime-labels.ts";

export interface SandboxInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly dns: ResolverConfig;
  readonly clusterDomain: string;
  readonly logDirectory: string;
  readonly cgroupParent: string;
}

/** The runtime's configuration of a pod's sandbox. */
export function sandboxConfig(input: SandboxInput): SandboxConfig {
  const { pod, attempt, dns, logDirectory, cgroupParent } = input;
  const { metadata, spec } = pod;
  const overhead = overheadResources(pod);
  return {
    pod: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid },
    attempt,
    hostname: spec.hostNetwork ? "" : kernelHostname(pod, input.clusterDomain),
    logDirectory,
    dns,
    ports: spec.hostNetwork ? [] : portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod),
    cgroupParent,
    sysctls: Object.fromEntries((spec.securityContext.sysctls ?? []).map(({ name, value }) => [name, value])),
    security: sandboxSecurity(pod),
    resources: sandboxResources(pod),
    ...(overhead ? { overhead } : {}),
  };
}

const maxKernelName = 64;

/** The hostname for the kernel; the FQDN if the pod asks for it. */
function kernelHostname(pod: Pod, clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (!pod.spec.setHostnameAsFQDN || domain === "") return hostname;
  const name = `${hostname}.${domain}`;
  if (name.length > maxKernelName) {
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long (${maxKernelName} characters is the max, ${name.length} characters requested)`,
    );
  }
  return name;
}

function portMappings({ spec }: Pod): PortMapping[] {
  return lastingContainers(spec).flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, containerPort, protocol, hostIP = "" }) =>
      hostPort ? [{ hostPort, containerPort, protocol, hostIp: hostIP }] : [],
    ),
  );
}

/** Which of the node's namespaces a pod shares, and whether its containers share a process namespace. */
export function podNamespaces({ spec }: Pod): Namespaces {
  return {
    network: spec.hostNetwork ? "node" : "pod",
    ipc: spec.hostIPC ? "node" : "pod",
    pid: spec.hostPID ? "node" : spec.shareProcessNamespace ? "pod" : "container",
  };
}

function sandboxSecurity(pod: Pod): SecurityContext {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec.securityContext;
  return {
    namespaces: podNamespaces(pod),
    privileged: allContainers(pod.spec).some(({ securityContext }) => securityContext?.privileged),
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...supplementalGroups(pod),
    ...(seLinuxOptions ? { seLinux: seLinuxOptions } : {}),
    // The pause program needs no more than this, whatever the pod's containers are allowed.
    seccomp: { type: "RuntimeDefault" },
  };
}

export function supplementalGroups({
  spec,
}: Pod): Pick<SecurityContext, "supplementalGroups" | "supplementalGroupsPolicy"> {
  const { fsGroup, supplementalGroups: own = [], supplementalGroupsPolicy } = spec.securityContext;
  return {
    supplementalGroups: fsGroup === undefined ? own : [fsGroup, ...own],
    ...(supplementalGroupsPolicy ? { supplementalGroupsPolicy } : {}),
  };
}
