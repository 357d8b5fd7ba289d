import {
  type Check,
  type CheckedPod,
  containersNamed,
  hasOwnUsers,
  namesOf,
  setters,
  unless,
  type Violation,
} from "./check.ts";

export const runAsNonRoot: Check = {
  id: "runAsNonRoot",
  level: "restricted",
  versions: [
    { since: 0, find: findRoot },
    { since: 35, find: unless(hasOwnUsers, findRoot) },
  ],
};

export const runAsUser: Check = {
  id: "runAsUser",
  level: "restricted",
  versions: [
    { since: 23, find: findUserZero },
    { since: 35, find: unless(hasOwnUsers, findUserZero) },
  ],
};

function findRoot(pod: CheckedPod): Violation | undefined {
  const reason = "runAsNonRoot != true";
  const ofPod = pod.security.runAsNonRoot;
  const refusing = namesOf(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false);
  const bad = setters(ofPod === false, refusing);
  if (bad) return { reason, detail: `${bad} must not set securityContext.runAsNonRoot=false` };
  const silent = ofPod ? [] : namesOf(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersNamed(silent)} must set securityContext.runAsNonRoot=true` };
}

function findUserZero(pod: CheckedPod): Violation | undefined {
  const containers = namesOf(pod, ({ securityContext }) => securityContext?.runAsUser === 0);
  const bad = setters(pod.security.runAsUser === 0, containers);
  return bad ? { reason: "runAsUser=0", detail: `${bad} must not set runAsUser=0` } : undefined;
}
