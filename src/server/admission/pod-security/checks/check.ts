import { type AnyContainer, allContainers } from "#api/core/pod/pod-containers.ts";
import { type PodSpec } from "#api/core/pod/pod-spec.ts";

/** One rule of the pod security standards. */
export interface Check {
  /** Upstream's name. Violations of one level are reported in the order of these names. */
  readonly id: string;
  /** A restricted pod also passes the baseline checks. */
  readonly level: "baseline" | "restricted";
  /** How the rule changed: each entry counts from its minor version on, up to the next one. */
  readonly versions: readonly [CheckVersion, ...CheckVersion[]];
  /** Baseline checks that this restricted one includes. */
  readonly replaces?: readonly string[];
}

export interface CheckVersion {
  readonly since: number;
  /** undefined if the pod passes. */
  find(pod: CheckedPod): Violation | undefined;
}

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** A pod or a template of one, as the checks see it. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  readonly security: PodSpec["securityContext"];
  readonly containers: readonly AnyContainer[];
}

const none = {};

export const checkedPod = (metadata: { annotations?: Record<string, string> }, spec: PodSpec): CheckedPod => ({
  annotations: metadata.annotations ?? none,
  spec,
  security: spec.securityContext ?? none,
  containers: allContainers(spec),
});

/** Whether the pod says that it is for Windows, where the Linux settings do not exist. */
export const isForWindows = ({ spec }: CheckedPod): boolean => spec.os?.name === "windows";

/** Root in a user namespace of its own is not root on the node. */
export const hasOwnUsers = ({ spec }: CheckedPod): boolean => spec.hostUsers === false;

/** The same rule, but only for pods that are not exempt from it. */
export const unless =
  (isExempt: (pod: CheckedPod) => boolean, find: CheckVersion["find"]): CheckVersion["find"] =>
  (pod) =>
    isExempt(pod) ? undefined : find(pod);

export const namesOf = (
  { containers }: CheckedPod,
  isBad: (container: AnyContainer) => boolean | undefined,
): string[] => containers.filter(isBad).map(({ name }) => name);

/** Who sets something bad: `pod and container "a"`; "" if nobody does. */
export function setters(isPodBad: boolean | undefined, containers: readonly string[]): string {
  const bad = isPodBad ? ["pod"] : [];
  if (containers.length > 0) bad.push(containersNamed(containers));
  return bad.join(" and ");
}

export const containersNamed = (names: readonly string[]): string =>
  `${plural(names.length, "container")} ${quoted(names)}`;

export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

/** Several checks repeat the names of all containers, so the message could be far longer than the request. */
const maxQuoted = 100;

/** `"a", "b"`. Quotes inside are not escaped, as upstream. */
export function quoted(items: Iterable<string>): string {
  const all = [...items];
  const shown = all.slice(0, maxQuoted).map((item) => `"${item}"`);
  if (all.length > maxQuoted) shown.push(`and ${all.length - maxQuoted} more`);
  return shown.join(", ");
}

/** Each text once, in order. */
export const sortedOnce = (texts: Iterable<string>): string[] => [...new Set(texts)].sort();
