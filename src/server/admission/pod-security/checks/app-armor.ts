import { type AppArmorProfile } from "#api/core/container/security-context.ts";
import { type Check, type CheckedPod, namesOf, plural, quoted, setters, sortedOnce, type Violation } from "./check.ts";

/** Names the profile of a container, from the time before `securityContext.appArmorProfile`. */
const annotationPrefix = "container.apparmor.security.beta.kubernetes.io/";

export const appArmor: Check = {
  id: "appArmorProfile",
  level: "baseline",
  versions: [{ since: 0, find: findProfiles }],
};

function findProfiles(pod: CheckedPod): Violation | undefined {
  const ofPod = pod.security.appArmorProfile;
  const containers = namesOf(pod, ({ securityContext }) => isBad(securityContext?.appArmorProfile));
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(annotationPrefix) && isBadAnnotation(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const bad = [setters(isBad(ofPod), containers)].filter((text) => text !== "");
  if (annotations.length > 0) bad.push(plural(annotations.length, "annotation"));
  if (bad.length === 0) return undefined;
  const profiles = [ofPod, ...pod.containers.map(({ securityContext }) => securityContext?.appArmorProfile)];
  const values = [...sortedOnce(profiles.filter(isBad).map((profile) => profile?.type ?? "")), ...annotations];
  return {
    reason: plural(values.length, "forbidden AppArmor profile"),
    detail: `${bad.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

const isBad = (profile: AppArmorProfile | undefined): boolean =>
  profile !== undefined && profile.type !== "RuntimeDefault" && profile.type !== "Localhost";

const isBadAnnotation = (value: string): boolean =>
  value !== "" && value !== "runtime/default" && !value.startsWith("localhost/");
