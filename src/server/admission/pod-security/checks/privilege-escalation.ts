import {
  type Check,
  type CheckedPod,
  containersNamed,
  isForWindows,
  namesOf,
  unless,
  type Violation,
} from "./check.ts";

export const privilegeEscalation: Check = {
  id: "allowPrivilegeEscalation",
  level: "restricted",
  versions: [
    { since: 8, find: findEscalation },
    { since: 25, find: unless(isForWindows, findEscalation) },
  ],
};

function findEscalation(pod: CheckedPod): Violation | undefined {
  const bad = namesOf(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (bad.length === 0) return undefined;
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${containersNamed(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  };
}
