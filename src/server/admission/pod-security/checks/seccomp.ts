import { type SeccompProfile } from "#api/core/container/security-context.ts";
import { own } from "#lib/data/own.ts";
import {
  type Check,
  type CheckedPod,
  containersNamed,
  isForWindows,
  namesOf,
  plural,
  quoted,
  setters,
  sortedOnce,
  unless,
  type Violation,
} from "./check.ts";

/** Until 1.19, annotations named the profiles of the pod and of its containers. */
const podAnnotation = "seccomp.security.alpha.kubernetes.io/pod";
const containerAnnotation = "container.seccomp.security.alpha.kubernetes.io/";

export const seccomp: Check = {
  id: "seccompProfile_baseline",
  level: "baseline",
  versions: [
    { since: 0, find: findAnnotations },
    { since: 19, find: findUnconfined },
  ],
};

export const restrictedSeccomp: Check = {
  id: "seccompProfile_restricted",
  level: "restricted",
  replaces: [seccomp.id],
  versions: [
    { since: 19, find: findUnset },
    { since: 25, find: unless(isForWindows, findUnset) },
  ],
};

const reason = "seccompProfile";

function findAnnotations({ annotations, containers }: CheckedPod): Violation | undefined {
  const names = [podAnnotation, ...containers.map(({ name }) => containerAnnotation + name)];
  const bad = names.flatMap((name) => {
    const value = own(annotations, name);
    return value === undefined || isAllowedAnnotation(value) ? [] : [`${name}=${JSON.stringify(value)}`];
  });
  if (bad.length === 0) return undefined;
  const forbidden = sortedOnce(bad);
  return { reason, detail: `forbidden ${plural(forbidden.length, "annotation")} ${forbidden.join(", ")}` };
}

const isAllowedAnnotation = (value: string): boolean =>
  value === "runtime/default" || value === "docker/default" || value.startsWith("localhost/");

function findUnconfined(pod: CheckedPod): Violation | undefined {
  const ofPod = pod.security.seccompProfile;
  const containers = namesOf(pod, ({ securityContext }) => isBad(securityContext?.seccompProfile));
  const bad = setters(isBad(ofPod), containers);
  if (!bad) return undefined;
  const profiles = [ofPod, ...pod.containers.map(({ securityContext }) => securityContext?.seccompProfile)];
  const values = sortedOnce(profiles.filter(isBad).map(({ type }) => type));
  return { reason, detail: `${bad} must not set securityContext.seccompProfile.type to ${quoted(values)}` };
}

function findUnset(pod: CheckedPod): Violation | undefined {
  const unconfined = findUnconfined(pod);
  if (unconfined || pod.security.seccompProfile) return unconfined;
  const silent = namesOf(pod, ({ securityContext }) => !securityContext?.seccompProfile);
  if (silent.length === 0) return undefined;
  const detail = `pod or ${containersNamed(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason, detail };
}

const isBad = (profile: SeccompProfile | undefined): profile is SeccompProfile =>
  profile !== undefined && profile.type !== "RuntimeDefault" && profile.type !== "Localhost";
