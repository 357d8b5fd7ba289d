import { Namespace } from "#api/core/namespace.ts";
import { type Pod } from "#api/core/pod.ts";
import { invalid } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { inSlices } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { own } from "#lib/data/own.ts";
import { type Informer } from "#runtime/informer.ts";
import { objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type PodSecurityConfig } from "./config.ts";
import {
  formatLevel,
  isSame,
  isStricter,
  type LevelVersion,
  labelPrefix,
  modes,
  type Policy,
  readPolicy,
} from "./levels.ts";

interface NamespaceDeps {
  readonly config: PodSecurityConfig;
  readonly pods: Informer<Pod>;
  readonly clock: Clock;
}

/** How long the author of a namespace waits for the check of its pods. */
const maxMs = 1000;

/** Refuses labels that cannot be read, and warns of pods that violate what they now ask for. */
export function validateNamespace(request: AdmissionRequest, deps: NamespaceDeps): void | Promise<void> {
  const namespace = objectOf(Namespace, request);
  if (!namespace) return;
  const { config } = deps;
  const old = oldObjectOf(Namespace, request);
  const { name, labels } = namespace.metadata;
  const now = readPolicy(labels, config.defaults);
  const before = old && readPolicy(old.metadata.labels, config.defaults);
  if (now.faults.length > 0 && !equal(now.faults, before?.faults)) throw invalid(Namespace, name, now.faults);
  const { enforce } = now.policy;
  if (before && !mayViolate(enforce, before.policy.enforce)) return;
  if (!config.exemptions.namespaces.has(name)) return before ? warnOfPods(request, enforce, deps) : undefined;
  const ignored = ignoredPolicy(now.policy, config.defaults, labels);
  if (ignored) {
    request.warn(`namespace "${name}" is exempt from Pod Security, and the policy (${ignored}) will be ignored`);
  }
}

/** What the labels themselves say; "" if they say nothing that matters. */
function ignoredPolicy(policy: Policy, defaults: Policy, labels: Readonly<Record<string, string>> = {}): string {
  if (modes.every((mode) => policy[mode].level === "privileged")) return "";
  if (modes.every((mode) => isAlike(policy[mode], defaults[mode]))) return "";
  const isSaid = (name: string): boolean => own(labels, labelPrefix + name) !== undefined;
  return modes
    .filter((mode) => policy[mode].level !== "privileged" && (isSaid(mode) || isSaid(`${mode}-version`)))
    .map((mode) => `${mode}=${formatLevel(policy[mode])}`)
    .join(", ");
}

const isAlike = (a: LevelVersion, b: LevelVersion): boolean =>
  isSame(a, b) || (a.level === "privileged" && b.level === "privileged");

/** Whether a pod that the old level allowed may violate the new one. */
const mayViolate = (now: LevelVersion, before: LevelVersion): boolean =>
  now.level !== "privileged" &&
  !isSame(now, before) &&
  (now.version !== before.version || isStricter(now.level, before.level));

async function warnOfPods(
  request: AdmissionRequest,
  policy: LevelVersion,
  { pods, clock, config: { exemptions } }: NamespaceDeps,
): Promise<void> {
  const { findWarnings } = await import("./existing-pods.ts");
  const { name } = request;
  const until = clock.now() + maxMs;
  const steps = findWarnings({
    namespace: name,
    pods: pods.list(name).filter(({ spec }) => !exemptions.runtimeClasses.has(spec.runtimeClassName ?? "")),
    policy,
    isLate: () => clock.now() >= until || request.signal.aborted,
  });
  for (const warning of await inSlices(steps)) request.warn(warning);
}
