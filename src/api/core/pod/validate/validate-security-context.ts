import {
  type AppArmorProfile,
  type PodSecurityContext,
  type SeccompProfile,
  type SecurityContext,
} from "#api/core/container/security-context.ts";
import { type Cursor } from "#api/cursor.ts";
import { type PodSpec } from "../pod-spec.ts";
import { validateWindowsOptions } from "./validate-windows.ts";
import { validateDescendingPath } from "./volumes/validate-path.ts";

export function validateSecurityContext(at: Cursor<SecurityContext>, hostUsers: boolean): void {
  const { procMount, allowPrivilegeEscalation, privileged, capabilities } = at.value;
  if (hostUsers && procMount === "Unmasked") {
    at.field("procMount").invalid("`hostUsers` must be false to use `Unmasked`");
  }
  validateProfiles(at);
  if (allowPrivilegeEscalation !== false) return;
  if (privileged) at.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  for (const name of capabilities?.add ?? []) {
    if (name !== "CAP_SYS_ADMIN") continue;
    at.invalid("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
  }
}

export function validatePodSecurityContext(at: Cursor<PodSecurityContext>, spec: PodSpec): void {
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    at.under("shareProcessNamespace").invalid(detail, true);
  }
  // Labelling by mount option is a feature of this release that is not switched on.
  at.on("seLinuxChangePolicy", (at) => at.oneOf(["Recursive"]));
  validateSysctls(at, spec);
  validateProfiles(at);
}

function validateProfiles(at: Cursor<SecurityContext | PodSecurityContext>): void {
  at.on("seccompProfile", validateSeccomp);
  at.on("windowsOptions", validateWindowsOptions);
  at.on("appArmorProfile", validateAppArmor);
}

function validateSeccomp(at: Cursor<SeccompProfile>): void {
  const { type, localhostProfile: file } = at.value;
  if (!type) at.field("type").missing("type is required when seccompProfile is set");
  const field = at.field("localhostProfile");
  if (type === "Localhost") {
    if (file === undefined) field.missing("must be set when seccomp type is Localhost");
    else validateDescendingPath(field.as(file));
  } else if (file !== undefined) field.invalid("can only be set when seccomp type is Localhost", at.value);
}

/** The longest path that Linux allows. */
const maxProfileLength = 4095;

export function validateAppArmor(at: Cursor<AppArmorProfile>): void {
  const { type, localhostProfile: name } = at.value;
  const field = at.field("localhostProfile");
  if (!type) at.field("type").missing("type is required when appArmorProfile is set");
  else if (type === "RuntimeDefault" || type === "Unconfined") {
    if (name !== undefined) field.invalid("can only be set when AppArmor type is Localhost");
  } else if (type !== "Localhost") return;
  else if (!name) field.missing("must be set when AppArmor type is Localhost");
  else {
    if (name.trim() !== name) field.invalid("must not be padded with whitespace");
    if (Buffer.byteLength(name) > maxProfileLength) field.tooLong(maxProfileLength);
  }
}

const sysctlForm = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const sysctlPattern = new RegExp(sysctlForm);

function validateSysctls(context: Cursor<PodSecurityContext>, spec: PodSpec): void {
  const seen = new Set<string>();
  context.each("sysctls", (sysctl) => {
    const at = sysctl.field("name");
    const { value: name } = at;
    if (!name) at.missing();
    else if (name.length > 253 || !sysctlPattern.test(name)) {
      at.invalid(`must have at most 253 characters and match regex ${sysctlForm}`);
    } else if (seen.has(name)) at.duplicate();
    const shared = hostNamespaceOf(name);
    if (shared && spec[shared]) at.invalid(`may not be specified when '${shared}' is true`);
    seen.add(name);
  });
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
