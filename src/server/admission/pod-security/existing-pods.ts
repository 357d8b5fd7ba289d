import { type Pod } from "#api/core/pod.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { type Steps } from "#lib/async/turns.ts";
import { checkedPod } from "./checks/check.ts";
import { violationsOf } from "./evaluate.ts";
import { formatLevel, type LevelVersion } from "./levels.ts";

/** A namespace may have any number of pods, and its author waits for the answer. */
const maxPods = 3000;

export interface PodsToCheck {
  readonly namespace: string;
  readonly pods: readonly Pod[];
  readonly policy: LevelVersion;
  /** Whether there is no time left. */
  isLate(): boolean;
}

/** Warns of pods that run already and would be refused now. One step per pod. */
export function* findWarnings({ namespace, pods, policy, isLate }: PodsToCheck): Steps<string[]> {
  const found = new Map<string, string[]>();
  const ordered = differentFirst(pods).slice(0, maxPods);
  let checked = 0;
  for (const { metadata, spec } of ordered) {
    const reasons = (yield* violationsOf(checkedPod(metadata, spec), policy)).map(({ reason }) => reason).join(", ");
    checked++;
    if (reasons) {
      const names = found.get(reasons);
      if (names) names.push(metadata.name);
      else found.set(reasons, [metadata.name]);
    }
    if (isLate()) break;
    yield;
  }
  const warnings: string[] = [];
  if (checked < pods.length) {
    const part = `the first ${checked} of ${pods.length} existing pods`;
    warnings.push(`new PodSecurity enforce level only checked against ${part}`);
  }
  if (found.size > 0) {
    const level = formatLevel(policy);
    warnings.push(`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${level}"`);
  }
  return [...warnings, ...[...found].map(([reasons, names]) => `${firstOf(names)}: ${reasons}`).sort()];
}

/** `web-1 (and 2 other pods)`. */
function firstOf(names: readonly string[]): string {
  const [first = "", ...others] = names.toSorted();
  if (others.length === 0) return first;
  return `${first} (and ${others.length} other ${others.length === 1 ? "pod" : "pods"})`;
}

/** Pods of one controller are alike, so all but the first of each come last. */
function differentFirst(pods: readonly Pod[]): Pod[] {
  const seen = new Set<string>();
  const alike: Pod[] = [];
  const different = pods.filter((pod) => {
    const owner = controllerOf(pod)?.uid;
    if (owner === undefined) return true;
    const isNew = !seen.has(owner);
    if (isNew) seen.add(owner);
    else alike.push(pod);
    return isNew;
  });
  return [...different, ...alike];
}
