import { type FieldPath, forbiddenValue, invalidValue } from "#schema/field-error.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { type Faults, judge } from "./faults.ts";
import { type AnyContainer } from "./pod-containers.ts";
import { type PodSpec } from "./pod-spec.ts";
import { type WindowsSecurityContextOptions } from "./security-context.ts";

/** A container and where it is. */
type Placed = readonly [AnyContainer, FieldPath];

const maxSpecKiB = 64;

export function validateWindowsOptions(options: WindowsSecurityContextOptions, path: FieldPath, faults: Faults): void {
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  if (gmsaCredentialSpecName !== undefined) {
    judge(dns1123Subdomain, gmsaCredentialSpecName, path, "gmsaCredentialSpecName", faults);
  }
  if (gmsaCredentialSpec !== undefined) {
    const fault = credentialFault(gmsaCredentialSpec);
    if (fault) faults.push(invalidValue(path.child("gmsaCredentialSpec"), gmsaCredentialSpec, fault));
  }
  if (runAsUserName === undefined) return;
  for (const fault of userFaults(runAsUserName)) {
    faults.push(invalidValue(path.child("runAsUserName"), runAsUserName, fault));
  }
}

function credentialFault(spec: string): string | undefined {
  if (spec === "") return "gmsaCredentialSpec cannot be an empty string";
  const isLong = Buffer.byteLength(spec) > maxSpecKiB * 1024;
  return isLong ? `gmsaCredentialSpec size must be under ${maxSpecKiB} KiB` : undefined;
}

const netBiosName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsName = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** `user` or `DOMAIN\user`. */
function userFaults(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (/\p{Cc}/u.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const user = parts.at(-1) ?? "";
  const domain = parts.length === 2 ? parts[0] : undefined;
  const found: string[] = [];
  if (domain !== undefined && domain.length >= 256) {
    found.push("runAsUserName's Domain length must be under 256 characters");
  }
  if (domain !== undefined && !netBiosName.test(domain) && !dnsName.test(domain)) {
    found.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  if (user === "") found.push("runAsUserName's User cannot be empty");
  if (user.length > 104) found.push("runAsUserName's User length must not be longer than 104 characters");
  if (/^[. ]+$/.test(user)) found.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    found.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return found;
}

/** Either all containers are processes of the host, or none is. */
export function validateHostProcess(
  spec: PodSpec,
  containers: readonly Placed[],
  path: FieldPath,
  faults: Faults,
): void {
  const ofPod = spec.securityContext.windowsOptions?.hostProcess;
  let count = 0;
  for (const [{ securityContext }, at] of containers) {
    const own = securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      faults.push(invalidValue(at.child("securityContext", "windowsOptions", "hostProcess"), own, detail));
    }
    if (own ?? ofPod) count++;
  }
  if (count === 0) return;
  if (count !== containers.length) {
    const detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    faults.push(invalidValue(path, "", detail));
  }
  if (!spec.hostNetwork) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    faults.push(invalidValue(path.child("hostNetwork"), false, detail));
  }
}

/** Pods that name their system may not set what only the other one has. */
export function validateSystem(spec: PodSpec, containers: readonly Placed[], path: FieldPath, faults: Faults): void {
  if (spec.os?.name === "linux") {
    const detail = "windows options cannot be set for a linux pod";
    const places = [path, ...containers.map(([, at]) => at)];
    const contexts = [spec.securityContext, ...containers.map(([{ securityContext }]) => securityContext)];
    for (const [index, context] of contexts.entries()) {
      const at = places[index];
      if (at && context?.windowsOptions) {
        faults.push(forbiddenValue(at.child("securityContext", "windowsOptions"), detail));
      }
    }
  } else if (spec.os?.name === "windows") {
    refuseLinuxOnly(spec, linuxPodFields, path, faults);
    refuseLinuxOnly(spec.securityContext, linuxPodContextFields, path.child("securityContext"), faults);
    for (const [{ securityContext }, at] of containers) {
      if (securityContext) refuseLinuxOnly(securityContext, linuxContextFields, at.child("securityContext"), faults);
    }
  }
}

const linuxPodFields = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] as const;
const linuxPodContextFields = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const;
const linuxContextFields = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

function refuseLinuxOnly<K extends string>(
  value: { readonly [N in K]?: unknown },
  names: readonly K[],
  path: FieldPath,
  faults: Faults,
): void {
  for (const name of names) {
    if (value[name] !== undefined) faults.push(forbiddenValue(path.child(name), "cannot be set for a windows pod"));
  }
}
