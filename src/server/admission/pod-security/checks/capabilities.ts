import { type AnyContainer } from "#api/core/pod/pod-containers.ts";
import {
  type Check,
  type CheckedPod,
  containersNamed,
  isForWindows,
  namesOf,
  quoted,
  sortedOnce,
  unless,
  type Violation,
} from "./check.ts";

/** What container runtimes give by default, except NET_RAW. */
const defaultSet = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);
const bindService = new Set(["NET_BIND_SERVICE"]);

export const defaultCapabilities: Check = {
  id: "capabilities_baseline",
  level: "baseline",
  versions: [
    {
      since: 0,
      find(pod) {
        const detail = addedBeyond(pod, defaultSet);
        return detail ? { reason: "non-default capabilities", detail } : undefined;
      },
    },
  ],
};

export const droppedCapabilities: Check = {
  id: "capabilities_restricted",
  level: "restricted",
  replaces: [defaultCapabilities.id],
  versions: [
    { since: 22, find: findUndropped },
    { since: 25, find: unless(isForWindows, findUndropped) },
  ],
};

function findUndropped(pod: CheckedPod): Violation | undefined {
  const details: string[] = [];
  const undropped = namesOf(pod, ({ securityContext }) => !securityContext?.capabilities?.drop?.includes("ALL"));
  if (undropped.length > 0) {
    details.push(`${containersNamed(undropped)} must set securityContext.capabilities.drop=["ALL"]`);
  }
  const added = addedBeyond(pod, bindService);
  if (added) details.push(added);
  return details.length > 0 ? { reason: "unrestricted capabilities", detail: details.join("; ") } : undefined;
}

/** Which containers add what is not in the set; "" if none does. */
function addedBeyond(pod: CheckedPod, allowed: ReadonlySet<string>): string {
  const badOf = ({ securityContext }: AnyContainer): string[] =>
    securityContext?.capabilities?.add?.filter((name) => !allowed.has(name)) ?? [];
  const containers = namesOf(pod, (container) => badOf(container).length > 0);
  if (containers.length === 0) return "";
  const names = quoted(sortedOnce(pod.containers.flatMap(badOf)));
  return `${containersNamed(containers)} must not include ${names} in securityContext.capabilities.add`;
}
