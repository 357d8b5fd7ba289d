import { Pod } from "#api/core/pod.ts";
import { PriorityClass, systemPriorityClasses } from "#api/scheduling/priority-class.ts";
import { type Informers } from "#runtime/informer.ts";
import { isAbout, isWriteOf, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** Resolves the name of a priority class to a number, and protects the system classes and the single default. */
export const priority = ({ informers }: { readonly informers: Informers }): AdmissionPlugin => ({
  name: "Priority",
  appliesTo: (request) => isWriteOf(Pod, request) || (isAbout(PriorityClass, request) && request.subresource === ""),

  mutate(request) {
    const pod = objectOf(Pod, request);
    if (!pod) return;
    if (request.operation === "CREATE") return setPriority(request, pod, informers);
    const old = oldObjectOf(Pod, request)?.spec;
    if (old?.priority !== undefined) pod.spec.priority ??= old.priority;
    if (old?.preemptionPolicy !== undefined) pod.spec.preemptionPolicy ??= old.preemptionPolicy;
  },

  validate(request) {
    if (!isAbout(PriorityClass, request)) return;
    if (request.operation === "DELETE") refuseSystemClass(request);
    else if (objectOf(PriorityClass, request)?.globalDefault) refuseSecondDefault(request, informers);
  },
});

interface PriorityFacts {
  readonly name: string;
  readonly value: number;
  readonly preemptionPolicy?: PriorityClass["preemptionPolicy"];
}

function setPriority(request: AdmissionRequest, { spec }: Pod, informers: Informers): void {
  const {
    name,
    value,
    preemptionPolicy = "PreemptLowerPriority",
  } = classOf(request, spec.priorityClassName, informers);
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

function classOf(request: AdmissionRequest, name: string | undefined, informers: Informers): PriorityFacts {
  if (!name) return defaultClass(informers) ?? { name: "", value: 0 };
  const found = informers.of(PriorityClass).get({ name }) ?? systemClass(name);
  if (!found) throw refusal(request, `no PriorityClass with name ${name} was found`);
  return { ...found, name };
}

/** System pods may arrive before the server has created its own classes. */
const systemClass = (name: string) => systemPriorityClasses.find(({ metadata }) => metadata.name === name);

/** Several defaults are possible only after a race; the lowest priority counts. */
function defaultClass(informers: Informers): PriorityFacts | undefined {
  const defaults = informers
    .of(PriorityClass)
    .list()
    .filter(({ globalDefault }) => globalDefault);
  const [lowest] = defaults.sort((a, b) => a.value - b.value);
  return lowest && { ...lowest, name: lowest.metadata.name };
}

function refuseSystemClass(request: AdmissionRequest): void {
  if (systemClass(request.name)) throw refusal(request, "this is a system priority class and cannot be deleted");
}

function refuseSecondDefault(request: AdmissionRequest, informers: Informers): void {
  const known = defaultClass(informers);
  if (!known || (request.operation === "UPDATE" && known.name === request.name)) return;
  throw refusal(request, `PriorityClass ${known.name} is already marked as default. Only one default can exist`);
}
