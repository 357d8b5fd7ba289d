import type { ContainerResize } from "./plan-containers.ts";

/** All work for a pod that takes time. `planPod` returns steps; `PodEffects` carries them out. */
export type Step =
  /** Reads the state of a container or sandbox from the runtime. */
  | { readonly do: "look"; readonly id: string }
  | { readonly do: "volumes" }
  /** Updates the content of mounted volumes. */
  | { readonly do: "refresh" }
  /** Creates a sandbox, after the one before it was stopped. */
  | { readonly do: "sandbox"; readonly attempt: number }
  | { readonly do: "image"; readonly container: string }
  | { readonly do: "create"; readonly container: string }
  | { readonly do: "start"; readonly container: string; readonly id: string }
  | { readonly do: "postStart"; readonly container: string; readonly id: string }
  /** Resizes running containers, and the pod as a whole. */
  | { readonly do: "resize"; readonly resizes: readonly ContainerResize[] }
  /** Runs the preStop hook before the signal, for a sidecar that has to wait for the other containers. */
  | { readonly do: "preStop"; readonly container: string; readonly id: string; readonly graceMs: number }
  | KillStep
  /** Shortens the grace period of a container that is being killed. */
  | { readonly do: "hurry"; readonly id: string; readonly graceMs: number }
  /** Removes an old container that is no longer needed. */
  | { readonly do: "discard"; readonly id: string }
  | { readonly do: "stopSandboxes" }
  /** Releases what the pod used on the node, except its logs. */
  | { readonly do: "release" }
  /** Writes the last status and removes the object from the API. */
  | { readonly do: "remove" }
  /** Removes everything that the pod left on the node. */
  | { readonly do: "clean" };

export interface KillStep {
  readonly do: "kill";
  readonly container: string;
  readonly id: string;
  /** For the event; by default that the container is stopped. */
  readonly message?: string;
  readonly graceMs: number;
  /** Whether the preStop hook runs first. */
  readonly hook: "run" | "skip";
}

export type StepName = Step["do"];
export type StepOf<Name extends StepName> = Extract<Step, { do: Name }>;

/** The subject of a step: a container by name or id, or the whole pod. */
export function subjectOf(step: Step): string {
  switch (step.do) {
    case "image":
    case "create":
      return step.container;
    case "look":
    case "start":
    case "postStart":
    case "preStop":
    case "kill":
    case "discard":
      return step.id;
    case "hurry":
      return `${step.id} ${step.graceMs}`;
    default:
      return "";
  }
}

/** Steps with the same key never run at the same time. */
export type StepKey = `${StepName} ${string}`;
export const keyOf = (step: Step): StepKey => `${step.do} ${subjectOf(step)}`;
