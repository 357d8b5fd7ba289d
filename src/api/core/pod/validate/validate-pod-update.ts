import { type Container, EphemeralContainer } from "#api/core/container/container.ts";
import { type Cursor } from "#api/cursor.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { inclusiveRange } from "#api/meta/names.ts";
import { mirrorAnnotation } from "#api/well-known.ts";
import { firstByName } from "#lib/data/first-by-name.ts";
import { unifiedDiff } from "#lib/text/unified-diff.ts";
import { forbiddenValue } from "#schema/field-error.ts";
import { type NodeAffinity, NodeSelectorRequirement, type NodeSelectorTerm, type Toleration } from "../affinity.ts";
import { type PodObject } from "../pod-fields.ts";
import { PodSpec } from "../pod-spec.ts";
import { validateImage } from "./validate-container.ts";
import { validateAnnotationUpdate } from "./validate-pod-annotations.ts";

const mutableFields = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

const maxInt32 = 2 ** 31 - 1;

/** A pod is made once: little of its spec can change. */
export function validatePodUpdate(pod: Cursor<PodObject>, { metadata, spec: old }: PodObject): void {
  const at = pod.field("spec");
  validateAnnotationUpdate(pod, { metadata });
  for (const list of ["containers", "initContainers"] as const) if (!validateImages(at, list, old)) return;
  if (!validateDeadline(at.field("activeDeadlineSeconds"), old.activeDeadlineSeconds)) return;
  validateKeptTolerations(at, old);
  validateRemovedGates(at, old);
  if (semanticEqual(PodSpec, at.value, old)) return;

  const rest = withoutMutable(at.value, old);
  if (old.schedulingGates?.length) keepPlacement(at, rest, old);
  if (semanticEqual(PodSpec, rest, old)) return;
  const difference = unifiedDiff(JSON.stringify(old, null, 1), JSON.stringify(rest, null, 1));
  at.forbidden(`pod updates may not change fields other than ${mutableFields}\n${difference}`);
}

/** False if the lists cannot be compared any further. */
function validateImages(pod: Cursor<PodSpec>, list: "containers" | "initContainers", old: PodSpec): boolean {
  const isSame = (pod.value[list] ?? []).length === (old[list] ?? []).length;
  if (!isSame) pod.field(list).forbidden("pod updates may not add or remove containers");
  else pod.each(list, (at) => at.field("image").required() && validateImage(at));
  return isSame;
}

function validateDeadline(at: Cursor<number | undefined>, old: number | undefined): boolean {
  const { value: seconds } = at;
  if (seconds === undefined) {
    if (old !== undefined) at.invalid("must not update from a positive integer to nil value");
    return true;
  }
  const outOfRange = seconds < 0 || seconds > maxInt32;
  if (outOfRange) at.invalid(inclusiveRange(0, maxInt32));
  const isLater = old !== undefined && old < seconds;
  if (!outOfRange && isLater) at.invalid("must be less than or equal to previous value");
  return !outOfRange && !isLater;
}

function validateKeptTolerations(at: Cursor<PodSpec>, { tolerations: old = [] }: PodSpec): void {
  const { tolerations = [] } = at.value;
  const kept = new Set(tolerations.map(tolerationKey));
  if (old.every((toleration) => kept.has(tolerationKey(toleration)))) return;
  at.field("tolerations").forbidden("existing toleration can not be modified except its tolerationSeconds");
}

/** What makes two tolerations the same, apart from their seconds. An absent text and an empty one are the same. */
export const tolerationKey = ({ key, operator, value, effect }: Toleration): string =>
  JSON.stringify([key ?? "", operator ?? "", value ?? "", effect ?? ""]);

function validateRemovedGates(at: Cursor<PodSpec>, old: PodSpec): void {
  const known = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  at.each("schedulingGates", (at) => {
    const { name } = at.value;
    if (known.has(name)) return;
    at.field("name").forbidden(`only deletion is allowed, but found new scheduling gate '${name}'`);
  });
}

/** The new spec with everything that may change as it was. */
function withoutMutable(spec: PodSpec, old: PodSpec): PodSpec {
  const rest = { ...spec };
  rest.containers = withImagesOf(old.containers, spec.containers);
  if (spec.initContainers) rest.initContainers = withImagesOf(old.initContainers ?? [], spec.initContainers);
  keep(rest, old, "activeDeadlineSeconds", "schedulingGates", "tolerations");
  if (old.terminationGracePeriodSeconds < 0 && spec.terminationGracePeriodSeconds === 1) {
    keep(rest, old, "terminationGracePeriodSeconds");
  }
  return rest;
}

const withImagesOf = (old: readonly Container[], containers: readonly Container[]): Container[] =>
  containers.map((container, index) => ({ ...container, image: old[index]?.image ?? "" }));

/** A field that is absent in `old` becomes undefined, which counts as absent. */
function keep(spec: PodSpec, old: PodSpec, ...names: (keyof PodSpec)[]): void {
  Object.assign(spec, Object.fromEntries(names.map((name) => [name, old[name]])));
}

/** While a pod has scheduling gates, its node selection can be narrowed. */
function keepPlacement(at: Cursor<PodSpec>, rest: PodSpec, old: PodSpec): void {
  const { nodeSelector = {} } = rest;
  if (Object.entries(old.nodeSelector ?? {}).some(([key, value]) => nodeSelector[key] !== value)) {
    const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
    at.field("nodeSelector").invalid(detail, nodeSelector);
  }
  keep(rest, old, "nodeSelector");
  validateNarrowed(at.under("affinity", "nodeAffinity").as(rest.affinity?.nodeAffinity), old.affinity?.nodeAffinity);
  const affinity = { ...rest.affinity, nodeAffinity: old.affinity?.nodeAffinity };
  const isEmpty = !affinity.nodeAffinity && !affinity.podAffinity && !affinity.podAntiAffinity;
  Object.assign(rest, { affinity: isEmpty && !old.affinity ? undefined : affinity });
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";

function validateNarrowed(affinity: Cursor<NodeAffinity | undefined>, old: NodeAffinity | undefined): void {
  const before = old?.[requiredTerms]?.nodeSelectorTerms ?? [];
  const terms = affinity.value?.[requiredTerms]?.nodeSelectorTerms ?? [];
  if (before.length === 0) return;
  const at = affinity.under(requiredTerms).as({ nodeSelectorTerms: terms });
  if (before.length !== terms.length) {
    at.field("nodeSelectorTerms").invalid("no additions/deletions to non-empty NodeSelectorTerms list are allowed");
    return;
  }
  at.each("nodeSelectorTerms", (at, index) => {
    const term = before[index];
    if (term && !isNarrowed(at.value, term)) at.invalid("only additions are allowed (no mutations or deletions)");
  });
}

/** An empty term matches nothing, so anything added to it would widen it. */
function isNarrowed(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ["matchExpressions", "matchFields"] as const;
  const wasEmpty = lists.every((name) => !old[name]?.length);
  if (wasEmpty) return lists.every((name) => !term[name]?.length);
  return lists.every((name) =>
    (old[name] ?? []).every((requirement, index) =>
      semanticEqual(NodeSelectorRequirement, term[name]?.[index], requirement),
    ),
  );
}

/** Ephemeral containers can only be added. */
export function validateEphemeralUpdate(pod: Cursor<PodObject>, old: PodObject): void {
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined) {
    pod.forbidden("static pods do not support ephemeral containers");
    return;
  }
  const at = pod.under("spec", "ephemeralContainers");
  const containers = firstByName(pod.value.spec.ephemeralContainers);
  for (const before of firstByName(old.spec.ephemeralContainers).values()) {
    const now = containers.get(before.name);
    const name = JSON.stringify(before.name);
    if (!now) at.forbidden(`existing ephemeral containers ${name} may not be removed\n`);
    else if (!semanticEqual(EphemeralContainer, before, now)) {
      at.add(() => {
        const difference = unifiedDiff(JSON.stringify(before, null, 1), JSON.stringify(now, null, 1));
        return forbiddenValue(at, `existing ephemeral containers ${name} may not be changed\n${difference}`);
      });
    }
  }
}
