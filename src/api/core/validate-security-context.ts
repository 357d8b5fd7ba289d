import {
  duplicateValue,
  type FieldPath,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "#schema/field-error.ts";
import { unixId } from "../meta/names.ts";
import { type Faults } from "./faults.ts";
import { type PodSpec } from "./pod-spec.ts";
import {
  type AppArmorProfile,
  type PodSecurityContext,
  type SeccompProfile,
  type SecurityContext,
  type Sysctl,
} from "./security-context.ts";
import { validateDescendingPath } from "./validate-path.ts";
import { validateWindowsOptions } from "./validate-windows.ts";

export function validateSecurityContext(
  context: SecurityContext,
  hostUsers: boolean,
  path: FieldPath,
  faults: Faults,
): void {
  validateId(context.runAsUser, path, "runAsUser", faults);
  validateId(context.runAsGroup, path, "runAsGroup", faults);
  if (hostUsers && context.procMount === "Unmasked") {
    const detail = "`hostUsers` must be false to use `Unmasked`";
    faults.push(invalidValue(path.child("procMount"), context.procMount, detail));
  }
  validateProfiles(context, path, faults);
  if (context.allowPrivilegeEscalation === false) validateNoEscalation(context, path, faults);
}

function validateNoEscalation(context: SecurityContext, path: FieldPath, faults: Faults): void {
  if (context.privileged) {
    const detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
    faults.push(invalidValue(path, context, detail));
  }
  for (const name of context.capabilities?.add ?? []) {
    if (name !== "CAP_SYS_ADMIN") continue;
    const detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
    faults.push(invalidValue(path, context, detail));
  }
}

export function validatePodSecurityContext(
  context: PodSecurityContext,
  spec: PodSpec,
  path: FieldPath,
  faults: Faults,
): void {
  validateId(context.fsGroup, path, "fsGroup", faults);
  validateId(context.runAsUser, path, "runAsUser", faults);
  validateId(context.runAsGroup, path, "runAsGroup", faults);
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    const fault = unixId(group);
    if (fault) faults.push(invalidValue(path.child("supplementalGroups").index(index), group, fault));
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    faults.push(invalidValue(path.child("shareProcessNamespace"), true, detail));
  }
  const { seLinuxChangePolicy } = context;
  // Labelling by mount option is a feature of this release that is not switched on.
  if (seLinuxChangePolicy !== undefined && seLinuxChangePolicy !== "Recursive") {
    faults.push(unsupportedValue(path.child("seLinuxChangePolicy"), seLinuxChangePolicy, ["Recursive"]));
  }
  if (context.sysctls) validateSysctls(context.sysctls, spec, path.child("sysctls"), faults);
  validateProfiles(context, path, faults);
}

function validateId(id: number | undefined, path: FieldPath, name: string, faults: Faults): void {
  const fault = id === undefined ? undefined : unixId(id);
  if (fault) faults.push(invalidValue(path.child(name), id, fault));
}

type Profiles = Pick<SecurityContext, "seccompProfile" | "windowsOptions" | "appArmorProfile">;

function validateProfiles(context: Profiles, path: FieldPath, faults: Faults): void {
  const { seccompProfile, windowsOptions, appArmorProfile } = context;
  if (seccompProfile) validateSeccomp(seccompProfile, path.child("seccompProfile"), faults);
  if (windowsOptions) validateWindowsOptions(windowsOptions, path.child("windowsOptions"), faults);
  if (appArmorProfile) validateAppArmor(appArmorProfile, path.child("appArmorProfile"), faults);
}

function validateSeccomp(profile: SeccompProfile, path: FieldPath, faults: Faults): void {
  const { type, localhostProfile: file } = profile;
  const at = path.child("localhostProfile");
  if (!type) faults.push(requiredValue(path.child("type"), "type is required when seccompProfile is set"));
  if (type === "Localhost") {
    if (file === undefined) faults.push(requiredValue(at, "must be set when seccomp type is Localhost"));
    else validateDescendingPath(file, at, faults);
  } else if (file !== undefined) {
    faults.push(invalidValue(at, profile, "can only be set when seccomp type is Localhost"));
  }
}

/** The longest path that Linux takes. */
const maxProfileLength = 4095;

export function validateAppArmor(
  { type, localhostProfile: name }: AppArmorProfile,
  path: FieldPath,
  faults: Faults,
): void {
  const at = path.child("localhostProfile");
  if (!type) faults.push(requiredValue(path.child("type"), "type is required when appArmorProfile is set"));
  else if (type === "RuntimeDefault" || type === "Unconfined") {
    if (name !== undefined) faults.push(invalidValue(at, name, "can only be set when AppArmor type is Localhost"));
  } else if (type !== "Localhost") return;
  else if (!name) faults.push(requiredValue(at, "must be set when AppArmor type is Localhost"));
  else {
    if (name.trim() !== name) faults.push(invalidValue(at, name, "must not be padded with whitespace"));
    if (Buffer.byteLength(name) > maxProfileLength) faults.push(tooLong(at, maxProfileLength));
  }
}

const sysctlForm = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const sysctlPattern = new RegExp(sysctlForm);

function validateSysctls(sysctls: readonly Sysctl[], spec: PodSpec, path: FieldPath, faults: Faults): void {
  const seen = new Set<string>();
  for (const [index, { name }] of sysctls.entries()) {
    const at = path.index(index).child("name");
    if (!name) faults.push(requiredValue(at));
    else if (name.length > 253 || !sysctlPattern.test(name)) {
      faults.push(invalidValue(at, name, `must have at most 253 characters and match regex ${sysctlForm}`));
    } else if (seen.has(name)) faults.push(duplicateValue(at, name));
    const shared = hostNamespaceOf(name);
    if (shared && spec[shared]) faults.push(invalidValue(at, name, `may not be specified when '${shared}' is true`));
    seen.add(name);
  }
}

const ipcSysctl = /^(kernel\.(sem|shm(all|max|mni|_rmid_forced)?|msg(max|mnb|mni)?)$|fs\.mqueue\.)/;

/** The setting under which a sysctl would be the node's, not the pod's. */
function hostNamespaceOf(name: string): "hostNetwork" | "hostIPC" | undefined {
  const [normal = ""] = normalSysctl(name).split("*", 1);
  if (normal.startsWith("net.")) return "hostNetwork";
  return ipcSysctl.test(normal) ? "hostIPC" : undefined;
}

/** Slashes may separate the parts; then dots belong to names. */
function normalSysctl(name: string): string {
  const first = name.search(/[./]/);
  if (first < 0 || name[first] === ".") return name;
  return name.replace(/[./]/g, (mark) => (mark === "." ? "/" : "."));
}
