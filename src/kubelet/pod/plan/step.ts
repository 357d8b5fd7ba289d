import type { ContainerResize } from "./plan-containers.ts";

/** Everything that is done for a pod and takes time. `planPod` returns steps; `PodEffects` carries them out. */
export type Step =
  /** Asks the runtime what became of a container or sandbox. */
  | { readonly do: "look"; readonly id: string }
  | { readonly do: "volumes" }
  /** Brings the content of mounted volumes up to date. */
  | { readonly do: "refresh" }
  /** Makes a sandbox, after the one before it was stopped. */
  | { readonly do: "sandbox"; readonly attempt: number }
  | { readonly do: "image"; readonly container: string }
  | { readonly do: "create"; readonly container: string }
  | { readonly do: "start"; readonly container: string; readonly id: string }
  | { readonly do: "postStart"; readonly container: string; readonly id: string }
  /** Gives running containers other resources, and the pod as a whole. */
  | { readonly do: "resize"; readonly resizes: readonly ContainerResize[] }
  /** Runs the preStop hook ahead of the signal, for a sidecar that has to wait for the others. */
  | { readonly do: "preStop"; readonly container: string; readonly id: string; readonly graceMs: number }
  | KillStep
  /** Shortens the grace period of a container that is being killed. */
  | { readonly do: "hurry"; readonly id: string; readonly graceMs: number }
  /** Removes a container of which only an older life is known. */
  | { readonly do: "discard"; readonly id: string }
  | { readonly do: "stopSandboxes" }
  /** Gives back what the pod used of the machine, except its logs. */
  | { readonly do: "release" }
  /** Writes the last status and removes the object from the API. */
  | { readonly do: "remove" }
  /** Removes everything that the pod left on the node. */
  | { readonly do: "clean" };

export interface KillStep {
  readonly do: "kill";
  readonly container: string;
  readonly id: string;
  /** For the event; by default that it is stopped. */
  readonly message?: string;
  readonly graceMs: number;
  /** Whether the preStop hook comes first. */
  readonly hook: "run" | "skip";
}

export type StepName = Step["do"];
export type StepOf<Name extends StepName> = Extract<Step, { do: Name }>;

/** What a step is about: a container by name or id, or the whole pod. */
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
