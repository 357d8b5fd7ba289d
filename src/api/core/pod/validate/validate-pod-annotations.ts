import { type AppArmorProfile, type SeccompProfile } from "#api/core/container/security-context.ts";
import { type Cursor } from "#api/cursor.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { deletionCostAnnotation, mirrorAnnotation } from "#api/well-known.ts";
import { allContainers, containersAt } from "../pod-containers.ts";
import { type PodSpec } from "../pod-spec.ts";
import { validateDescendingPath } from "./volumes/validate-path.ts";

export const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
export const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
export const seccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";

type Annotations = Readonly<Record<string, string>> | undefined;

/** Annotations that mean something to the system. */
export function validatePodAnnotations(at: Cursor<Annotations>, spec: PodSpec): void {
  let names: ReadonlySet<string> | undefined;
  for (const key in at.value) {
    const value = at.value[key] ?? "";
    if (key === mirrorAnnotation && !spec.nodeName) {
      at.key(key, value).invalid("must set spec.nodeName if mirror pod annotation is set");
    } else if (key === deletionCostAnnotation && !isInt32(value)) at.key(key, value).invalid("must be a 32bit integer");
    else if (key === seccompPod || key.startsWith(seccompPrefix)) validateSeccompName(at.under(key).as(value));
    else if (key.startsWith(appArmorPrefix)) {
      names ??= new Set(allContainers(spec).map(({ name }) => name));
      validateAppArmorName(at.key(key, value), key, names);
    }
  }
}

/** Written as a number is printed: no plus sign, no leading zeros. */
const isInt32 = (text: string): boolean =>
  /^(0|-[0-9]+|[1-9][0-9]*)$/.test(text) && Number(text) >= -(2 ** 31) && Number(text) < 2 ** 31;

function validateSeccompName(at: Cursor<string>): void {
  const { value: name } = at;
  if (["runtime/default", "docker/default", "unconfined"].includes(name)) return;
  if (name.startsWith("localhost/")) validateDescendingPath(at.as(name.slice("localhost/".length)));
  else at.invalid("must be a valid seccomp profile");
}

function validateAppArmorName(at: Cursor<string>, key: string, names: ReadonlySet<string>): void {
  const container = key.slice(appArmorPrefix.length);
  if (!names.has(container)) at.invalid("container not found", container);
  if (!["", "runtime/default", "unconfined"].includes(at.value) && !at.value.startsWith("localhost/")) {
    at.invalid(`invalid AppArmor profile name: ${JSON.stringify(at.value)}`);
  }
}

/** Where a profile is named by annotation and by field, both must say the same. */
export function validateProfileAnnotations(pod: Cursor<PodSpec>, { annotations }: ObjectMeta): void {
  if (!annotations) return;
  const { securityContext, os } = pod.value;
  const seccomp = { kind: "seccomp", annotation: annotations[seccompPod] } as const;
  matchProfile(pod.under("securityContext", "seccompProfile").as(securityContext.seccompProfile), seccomp);
  for (const container of containersAt(pod)) {
    const { name, securityContext: own } = container.value;
    const at = container.under("securityContext");
    const seccomp = { kind: "seccomp", annotation: annotations[seccompPrefix + name] } as const;
    matchProfile(at.under("seccompProfile").as(own?.seccompProfile), seccomp);
    if (os?.name === "windows") continue;
    const appArmor = { kind: "apparmor", annotation: annotations[appArmorPrefix + name] } as const;
    matchProfile(at.under("appArmorProfile").as(own?.appArmorProfile ?? securityContext.appArmorProfile), appArmor);
  }
}

interface ProfileAnnotation {
  readonly kind: "seccomp" | "apparmor";
  readonly annotation: string | undefined;
}

function matchProfile(
  at: Cursor<SeccompProfile | AppArmorProfile | undefined>,
  { kind, annotation }: ProfileAnnotation,
): void {
  const { value: profile } = at;
  if (annotation === undefined || profile === undefined) return;
  const defaults = kind === "seccomp" ? ["runtime/default", "docker/default"] : ["runtime/default"];
  const isSameType =
    profile.type === "Localhost"
      ? annotation.startsWith("localhost/")
      : (profile.type === "Unconfined" ? ["unconfined"] : defaults).includes(annotation);
  if (!isSameType) at.under("type").forbidden(`${kind} type in annotation and field must match`);
  else if (profile.type === "Localhost" && annotation.slice("localhost/".length) !== profile.localhostProfile) {
    at.under("localhostProfile").forbidden(`${kind} profile in annotation and field must match`);
  }
}

/** Annotations that stay as they were made. */
export function validateAnnotationUpdate(pod: Cursor<{ metadata: ObjectMeta }>, old: { metadata: ObjectMeta }): void {
  const { annotations = {} } = pod.value.metadata;
  const { annotations: before = {} } = old.metadata;
  for (const key of new Set([...Object.keys(before), ...Object.keys(annotations)])) {
    const what = key === mirrorAnnotation ? "mirror pod annotation" : "AppArmor annotations";
    if (key !== mirrorAnnotation && !key.startsWith(appArmorPrefix)) continue;
    if (annotations[key] === before[key]) continue;
    const action = before[key] === undefined ? "add" : "remove or update";
    pod.under("metadata", "annotations").key(key, undefined).forbidden(`may not ${action} ${what}`);
  }
}
