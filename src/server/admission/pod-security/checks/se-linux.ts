import { type SecurityContext } from "#api/core/container/security-context.ts";
import { type Check, type CheckedPod, namesOf, plural, quoted, setters, sortedOnce, type Violation } from "./check.ts";

type Options = NonNullable<SecurityContext["seLinuxOptions"]>;

const types = ["", "container_t", "container_init_t", "container_kvm_t"];

export const seLinux: Check = {
  id: "seLinuxOptions",
  level: "baseline",
  versions: [
    { since: 0, find: findLabels(new Set(types)) },
    { since: 31, find: findLabels(new Set([...types, "container_engine_t"])) },
  ],
};

function findLabels(allowed: ReadonlySet<string>) {
  const isBad = (options: Options | undefined): options is Options =>
    options !== undefined && Boolean(!allowed.has(options.type ?? "") || options.user || options.role);
  return (pod: CheckedPod): Violation | undefined => {
    const ofPod = pod.security.seLinuxOptions;
    const containers = namesOf(pod, ({ securityContext }) => isBad(securityContext?.seLinuxOptions));
    const who = setters(isBad(ofPod), containers);
    if (!who) return undefined;
    const bad = [ofPod, ...pod.containers.map(({ securityContext }) => securityContext?.seLinuxOptions)].filter(isBad);
    const badTypes = sortedOnce(bad.map(({ type = "" }) => type).filter((type) => !allowed.has(type)));
    const what = [
      ...(badTypes.length > 0 ? [`${plural(badTypes.length, "type")} ${quoted(badTypes)}`] : []),
      ...(bad.some(({ user }) => user) ? ["user may not be set"] : []),
      ...(bad.some(({ role }) => role) ? ["role may not be set"] : []),
    ];
    return {
      reason: "seLinuxOptions",
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join("; ")}`,
    };
  };
}
