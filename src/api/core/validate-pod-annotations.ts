import { type FieldPath, forbiddenValue, invalidValue } from "#schema/field-error.ts";
import { type ObjectMeta } from "../meta/object-meta.ts";
import { deletionCostAnnotation, mirrorAnnotation } from "../well-known.ts";
import { type Faults } from "./faults.ts";
import { allContainers, placedContainers } from "./pod-containers.ts";
import { type PodSpec } from "./pod-spec.ts";
import { type AppArmorProfile, type SeccompProfile } from "./security-context.ts";
import { validateDescendingPath } from "./validate-path.ts";

export const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
export const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
export const seccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";

type Annotations = Readonly<Record<string, string>>;

/** Annotations that mean something to the system. `path` is that of the annotations. */
export function validatePodAnnotations(
  annotations: Annotations | undefined,
  spec: PodSpec,
  path: FieldPath,
  faults: Faults,
): void {
  for (const key in annotations) {
    const value = annotations[key] ?? "";
    if (key === mirrorAnnotation && !spec.nodeName) {
      faults.push(invalidValue(path.key(key), value, "must set spec.nodeName if mirror pod annotation is set"));
    } else if (key === deletionCostAnnotation && !isInt32(value)) {
      faults.push(invalidValue(path.key(key), value, "must be a 32bit integer"));
    } else if (key === seccompPod || key.startsWith(seccompPrefix)) {
      validateSeccompName(value, path.child(key), faults);
    } else if (key.startsWith(appArmorPrefix)) validateAppArmorName(key, value, spec, path, faults);
  }
}

/** Written as a number is printed: no plus sign, no leading zeros. */
const isInt32 = (text: string): boolean =>
  /^(0|-[0-9]+|[1-9][0-9]*)$/.test(text) && Number(text) >= -(2 ** 31) && Number(text) < 2 ** 31;

function validateSeccompName(name: string, path: FieldPath, faults: Faults): void {
  if (["runtime/default", "docker/default", "unconfined"].includes(name)) return;
  if (name.startsWith("localhost/")) validateDescendingPath(name.slice("localhost/".length), path, faults);
  else faults.push(invalidValue(path, name, "must be a valid seccomp profile"));
}

function validateAppArmorName(key: string, name: string, spec: PodSpec, path: FieldPath, faults: Faults): void {
  const container = key.slice(appArmorPrefix.length);
  if (!allContainers(spec).some((candidate) => candidate.name === container)) {
    faults.push(invalidValue(path.key(key), container, "container not found"));
  }
  if (!["", "runtime/default", "unconfined"].includes(name) && !name.startsWith("localhost/")) {
    faults.push(invalidValue(path.key(key), name, `invalid AppArmor profile name: ${JSON.stringify(name)}`));
  }
}

/** Where a profile is named by annotation and by field, both must say the same. */
export function validateProfileAnnotations(
  { annotations }: ObjectMeta,
  spec: PodSpec,
  path: FieldPath,
  faults: Faults,
): void {
  if (!annotations) return;
  const { securityContext } = spec;
  const at = path.child("securityContext", "seccompProfile");
  matchProfile("seccomp", annotations[seccompPod], securityContext.seccompProfile, at, faults);
  for (const [container, place] of placedContainers(spec, path)) {
    const own = container.securityContext;
    const context = place.child("securityContext");
    const seccomp = annotations[seccompPrefix + container.name];
    matchProfile("seccomp", seccomp, own?.seccompProfile, context.child("seccompProfile"), faults);
    if (spec.os?.name === "windows") continue;
    const appArmor = own?.appArmorProfile ?? securityContext.appArmorProfile;
    const named = annotations[appArmorPrefix + container.name];
    matchProfile("apparmor", named, appArmor, context.child("appArmorProfile"), faults);
  }
}

function matchProfile(
  kind: "seccomp" | "apparmor",
  annotation: string | undefined,
  profile: SeccompProfile | AppArmorProfile | undefined,
  path: FieldPath,
  faults: Faults,
): void {
  if (annotation === undefined || profile === undefined) return;
  const defaults = kind === "seccomp" ? ["runtime/default", "docker/default"] : ["runtime/default"];
  const isSameType =
    profile.type === "Localhost"
      ? annotation.startsWith("localhost/")
      : (profile.type === "Unconfined" ? ["unconfined"] : defaults).includes(annotation);
  if (!isSameType) {
    faults.push(forbiddenValue(path.child("type"), `${kind} type in annotation and field must match`));
  } else if (profile.type === "Localhost" && annotation.slice("localhost/".length) !== profile.localhostProfile) {
    const detail = `${kind} profile in annotation and field must match`;
    faults.push(forbiddenValue(path.child("localhostProfile"), detail));
  }
}

/** Annotations that stay as they were made. */
export function validateAnnotationUpdate(
  annotations: Annotations = {},
  old: Annotations = {},
  path: FieldPath,
  faults: Faults,
): void {
  for (const key of new Set([...Object.keys(old), ...Object.keys(annotations)])) {
    const what = key === mirrorAnnotation ? "mirror pod annotation" : "AppArmor annotations";
    if (key !== mirrorAnnotation && !key.startsWith(appArmorPrefix)) continue;
    if (annotations[key] === old[key]) continue;
    const action = old[key] === undefined ? "add" : "remove or update";
    faults.push(forbiddenValue(path.key(key), `may not ${action} ${what}`));
  }
}
