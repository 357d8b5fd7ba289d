import {
  PodSecurityContext,
  SecurityContext,
  type WindowsSecurityContextOptions,
} from "#api/core/container/security-context.ts";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { type AnyContainer } from "../pod-containers.ts";
import { type PodSpec } from "../pod-spec.ts";

const maxSpecKiB = 64;

export function validateWindowsOptions(at: Cursor<WindowsSecurityContextOptions>): void {
  at.field("gmsaCredentialSpecName").rule(dns1123Subdomain);
  at.on("gmsaCredentialSpec", (at) => at.invalid(credentialFault(at.value)));
  at.on("runAsUserName", (at) => {
    for (const fault of userFaults(at.value)) at.invalid(fault);
  });
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
export function validateHostProcess(pod: Cursor<PodSpec>, containers: readonly Cursor<AnyContainer>[]): void {
  const ofPod = pod.value.securityContext.windowsOptions?.hostProcess;
  let count = 0;
  for (const at of containers) {
    const own = at.value.securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      at.under("securityContext", "windowsOptions", "hostProcess").invalid(detail, own);
    }
    if (own ?? ofPod) count++;
  }
  if (count === 0) return;
  if (count !== containers.length) {
    const detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    pod.invalid(detail, "");
  }
  if (!pod.value.hostNetwork) {
    pod.field("hostNetwork").invalid("hostNetwork must be true if pod contains any hostProcess containers", false);
  }
}

/** A pod that names its operating system must not use settings of the other one. */
export function validateSystem(pod: Cursor<PodSpec>, containers: readonly Cursor<AnyContainer>[]): void {
  if (pod.value.os?.name === "linux") {
    refuseWindowsOptions(pod);
    for (const at of containers) refuseWindowsOptions(at);
  } else if (pod.value.os?.name === "windows") {
    refuseLinuxOnly(pod, linuxPodFields);
    refuseLinuxOnly(pod.field("securityContext"), Object.keys(linuxPodContext));
    for (const at of containers) at.on("securityContext", (at) => refuseLinuxOnly(at, Object.keys(linuxContext)));
  }
}

const linuxPodFields = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] as const;
/** All but these two settings of a security context are for Linux. */
const { windowsOptions: _podOptions, runAsNonRoot: _podRoot, ...linuxPodContext } = PodSecurityContext.fields;
const { windowsOptions: _options, runAsNonRoot: _root, ...linuxContext } = SecurityContext.fields;

function refuseWindowsOptions(at: Cursor<{ securityContext?: { windowsOptions?: unknown } }>): void {
  at.on("securityContext", (at) =>
    at.on("windowsOptions", (at) => at.forbidden("windows options cannot be set for a linux pod")),
  );
}

function refuseLinuxOnly(at: Cursor<object>, names: readonly string[]): void {
  for (const name of names) {
    if (Object.hasOwn(at.value, name)) at.under(name).forbidden("cannot be set for a windows pod");
  }
}
