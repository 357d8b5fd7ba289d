import { type Steps } from "#lib/async/turns.ts";
import { allChecks } from "./checks/all.ts";
import { type CheckedPod, type CheckVersion, type Violation } from "./checks/check.ts";
import { formatLevel, type LevelVersion } from "./levels.ts";

/** Later versions of the standards are the same as this one. */
const newest = Math.max(...allChecks.flatMap(({ versions }) => versions.map(({ since }) => since)));

/** Everything in the pod that this level does not allow. One step per check. */
export function* violationsOf(pod: CheckedPod, policy: LevelVersion): Steps<Violation[]> {
  if (policy.level === "privileged") return [];
  const found: Violation[] = [];
  for (const check of checksOf(policy)) {
    const violation = check.find(pod);
    if (violation) found.push(violation);
    yield;
  }
  return found;
}

/** `violates PodSecurity "baseline:latest": hostPort (container "a" uses hostPort 80), privileged (…)`. */
export function describe(verb: string, policy: LevelVersion, violations: readonly Violation[]): string {
  const list = violations.map(({ reason, detail }) => `${reason} (${detail})`).join(", ");
  return `${verb} PodSecurity "${formatLevel(policy)}": ${list}`;
}

/** One list per level and version. */
const lists = new Map<string, readonly CheckVersion[]>();

function checksOf({ level, version }: LevelVersion): readonly CheckVersion[] {
  const minor = version === "latest" ? newest : Math.min(Number(version.slice("v1.".length)), newest);
  const key = `${level}:${minor}`;
  let list = lists.get(key);
  if (!list) {
    list = planChecks(level === "restricted", minor);
    lists.set(key, list);
  }
  return list;
}

/** The rules of a level in a minor version, without those that a stricter one includes. */
function planChecks(isRestricted: boolean, minor: number): readonly CheckVersion[] {
  const inForce = allChecks.flatMap((check) => {
    const version = check.versions.findLast(({ since }) => since <= minor);
    return version && (isRestricted || check.level === "baseline") ? [{ check, version }] : [];
  });
  const replaced = new Set(inForce.flatMap(({ check }) => check.replaces ?? []));
  return inForce.filter(({ check }) => !replaced.has(check.id)).map(({ version }) => version);
}
