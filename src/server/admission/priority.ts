import { Pod } from "#api/core/pod.ts";
import { isWriteOf, objectOf, oldObjectOf } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";
import { refusal } from "./refuse.ts";

/** Where priority classes are looked up. */
export interface PriorityClasses {
  get(name: string): PriorityFacts | undefined;
  /** The class of pods that name none, if there is one. */
  globalDefault(): (PriorityFacts & { readonly name: string }) | undefined;
}
export interface PriorityFacts {
  readonly value: number;
  readonly preemptionPolicy?: Preemption;
}
type Preemption = "PreemptLowerPriority" | "Never";

const systemClasses: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

/** The two classes that every cluster has. */
const systemPriorityClasses: PriorityClasses = {
  get(name) {
    const value = Object.hasOwn(systemClasses, name) ? systemClasses[name] : undefined;
    return value === undefined ? undefined : { value, preemptionPolicy: "PreemptLowerPriority" };
  },
  globalDefault: () => undefined,
};

/** Turns the name of a priority class into a number. */
export const priority = (classes: PriorityClasses = systemPriorityClasses): AdmissionPlugin => ({
  name: "Priority",
  appliesTo: (request) => isWriteOf(Pod, request),

  mutate(request) {
    const pod = objectOf(Pod, request);
    if (!pod) return;
    if (request.operation === "CREATE") return setPriority(request, pod, classes);
    const old = oldObjectOf(Pod, request)?.spec;
    if (old?.priority !== undefined) pod.spec.priority ??= old.priority;
    if (old?.preemptionPolicy !== undefined) pod.spec.preemptionPolicy ??= old.preemptionPolicy;
  },
});

function setPriority(request: AdmissionRequest, { spec }: Pod, classes: PriorityClasses): void {
  const { name, value, preemptionPolicy = "PreemptLowerPriority" } = classOf(request, spec.priorityClassName, classes);
  if (spec.priority !== undefined && spec.priority !== value) {
    throw refusal(
      request,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw refusal(
      request,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
  if (name) spec.priorityClassName = name;
  spec.priority = value;
  spec.preemptionPolicy = preemptionPolicy;
}

function classOf(
  request: AdmissionRequest,
  name: string | undefined,
  classes: PriorityClasses,
): PriorityFacts & { readonly name: string } {
  if (!name) return classes.globalDefault() ?? { name: "", value: 0 };
  const found = classes.get(name);
  if (!found) throw refusal(request, `no PriorityClass with name ${name} was found`);
  return { ...found, name };
}
