import {
  type Check,
  type CheckedPod,
  containersNamed,
  hasOwnUsers,
  namesOf,
  quoted,
  sortedOnce,
  unless,
  type Violation,
} from "./check.ts";

export const procMount: Check = {
  id: "procMount",
  level: "baseline",
  versions: [
    { since: 0, find: findUnmasked },
    { since: 35, find: unless(hasOwnUsers, findUnmasked) },
  ],
};

/** Since the baseline allows it with user namespaces, the restricted level has its own check. */
export const restrictedProcMount: Check = {
  id: "procMount_restricted",
  level: "restricted",
  replaces: [procMount.id],
  versions: [{ since: 35, find: findUnmasked }],
};

function findUnmasked(pod: CheckedPod): Violation | undefined {
  const bad = namesOf(pod, ({ securityContext }) => isUnmasked(securityContext?.procMount));
  if (bad.length === 0) return undefined;
  const values = pod.containers.map(({ securityContext }) => securityContext?.procMount).filter(isUnmasked);
  return {
    reason: "procMount",
    detail: `${containersNamed(bad)} must not set securityContext.procMount to ${quoted(sortedOnce(values))}`,
  };
}

const isUnmasked = <T extends string>(mount: T | undefined): mount is T => mount !== undefined && mount !== "Default";
