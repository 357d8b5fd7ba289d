import type { Pod } from "#api/core/pod.ts";
import { sandboxConfig } from "#kubelet/config/sandbox-config.ts";
import { planPodDns } from "#kubelet/network/pod-dns.ts";
import type { SandboxRecord } from "#kubelet/pod/plan/pod-state.ts";
import type { SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type PodDeps, podEvent } from "../pod-deps.ts";

/** Prepares the node for a sandbox, and returns the runtime's configuration. */
export async function prepareSandbox(deps: PodDeps, pod: Pod, attempt: number): Promise<SandboxConfig> {
  const { host, clusterDns } = deps;
  const { logDirectory, cgroupParent } = await host.prepare(pod);
  const { config: dns, warnings } = planPodDns(pod, host.resolver, clusterDns);
  for (const warning of warnings) podEvent(deps, pod, "Warning", "DNSConfigForming", warning);
  return sandboxConfig({ pod, attempt, dns, clusterDomain: clusterDns.domain, logDirectory, cgroupParent });
}

/** Lets drivers prepare the devices of a pod. */
export async function prepareClaims(deps: PodDeps, pod: Pod): Promise<void> {
  try {
    await deps.claims?.prepare(pod);
  } catch (error) {
    const message = `Failed to prepare dynamic resources: prepare dynamic resources: ${messageOf(error)}`;
    podEvent(deps, pod, "Warning", "FailedPrepareDynamicResources", message);
    throw error;
  }
}

/** A pod with its own users must not run with those of the node, so it does not run. */
function refuseOwnUsers({ spec }: Pod, handler: string): void {
  if (spec.hostUsers !== false) return;
  const who = handler === "" ? "runtime" : `RuntimeClass handler ${JSON.stringify(handler)}`;
  throw new Error(`can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`);
}

/** Creates a sandbox. Resolves when its network is up. */
export async function createSandbox(deps: PodDeps, pod: Pod, config: SandboxConfig): Promise<SandboxRecord> {
  const { runtime } = deps;
  const { runtimeClassName } = pod.spec;
  try {
    const handler = runtimeClassName ? await deps.runtimeHandler(runtimeClassName) : "";
    refuseOwnUsers(pod, handler);
    const id = await runtime.runSandbox(config, { handler });
    deps.claimContainer(id, pod.metadata.uid);
    const ips = pod.spec.hostNetwork ? [] : ((await runtime.sandboxStatus(id))?.ips ?? []);
    if (ips.length > 0) await deps.host.restrictTraffic(pod, ips);
    return { id, attempt: config.attempt, isReady: true, ips };
  } catch (error) {
    podEvent(deps, pod, "Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${messageOf(error)}`);
    throw error;
  }
}
