import type { AnyContainer } from "#api/core/pod/pod-containers.ts";

export type ProbeResult = "success" | "failure" | "unknown";

/** The current results of a container's probes; undefined before the first. */
export interface ProbeResults {
  startup(containerId: string): ProbeResult | undefined;
  liveness(containerId: string): ProbeResult | undefined;
}

/** What the probes of a running container allow. */
export interface ReadinessView {
  isStarted(containerId: string, container: AnyContainer): boolean;
  isReady(containerId: string, container: AnyContainer): boolean;
}
