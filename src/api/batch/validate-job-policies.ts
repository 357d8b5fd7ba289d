import { type Cursor } from "#api/cursor.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { countIndexes } from "./completion-indexes.ts";
import {
  failureActions,
  type JobSpec,
  type PodFailurePolicyOnExitCodesRequirement,
  type PodFailurePolicyRule,
  type SuccessPolicyRule,
} from "./job-spec.ts";

const maxRules = 20;
const maxPatterns = 20;
const maxExitCodes = 255;
const maxIndexesLength = 64 * 1024;

/** The values as upstream lists them for a missing one. */
const valid = (values: readonly string[]): string =>
  `valid values: [${values.map((value) => JSON.stringify(value)).join(" ")}]`;

export function validatePodFailurePolicy(job: Cursor<JobSpec>): void {
  const { backoffLimitPerIndex, template } = job.value;
  const { containers, initContainers = [] } = template.spec;
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  job.on("podFailurePolicy", (at) => {
    const { rules } = at.value;
    if (rules.length > maxRules) at.field("rules").tooMany(rules.length, maxRules);
    at.each("rules", (at) => {
      if (at.value.action === "FailIndex" && backoffLimitPerIndex === undefined) {
        at.field("action").invalid("requires the backoffLimitPerIndex to be set");
      }
      validateRule(at, names);
    });
  });
}

function validateRule(at: Cursor<PodFailurePolicyRule>, containerNames: ReadonlySet<string>): void {
  const { onExitCodes, onPodConditions = [] } = at.value;
  at.field("action").required(valid(failureActions));
  at.on("onExitCodes", (at) => validateExitCodes(at, containerNames));
  if (onPodConditions.length > maxPatterns) at.field("onPodConditions").tooMany(onPodConditions.length, maxPatterns);
  at.each("onPodConditions", (at) => at.field("type").rule(qualifiedName));
  const isBoth = onExitCodes && onPodConditions.length > 0;
  if (isBoth) at.contradictory("specifying both OnExitCodes and OnPodConditions is not supported");
  const isNeither = !onExitCodes && onPodConditions.length === 0;
  if (isNeither) at.contradictory("specifying one of OnExitCodes and OnPodConditions is required");
}

function validateExitCodes(
  at: Cursor<PodFailurePolicyOnExitCodesRequirement>,
  containerNames: ReadonlySet<string>,
): void {
  const { containerName, operator, values } = at.value;
  at.field("operator").required(valid(["In", "NotIn"]));
  if (containerName !== undefined && !containerNames.has(containerName)) {
    at.field("containerName").invalid("must be one of the container or initContainer names in the pod template");
  }
  if (values.length === 0) at.field("values").invalid("at least one value is required");
  if (values.length > maxExitCodes) at.field("values").tooMany(values.length, maxExitCodes);
  const seen = new Set<number>();
  let isOrdered = true;
  let previous = Number.NEGATIVE_INFINITY;
  at.each("values", (at) => {
    if (operator === "In" && at.value === 0) at.invalid("must not be 0 for the In operator");
    at.unique(seen);
    if (at.value < previous) isOrdered = false;
    previous = at.value;
  });
  if (!isOrdered) at.field("values").invalid("must be ordered");
}

export function validateSuccessPolicy(job: Cursor<JobSpec>): void {
  const { completionMode, completions } = job.value;
  job.on("successPolicy", (at) => {
    const { rules } = at.value;
    if (completionMode !== "Indexed") {
      at.invalid("requires indexed completion mode", { Rules: rules.map(inGo) });
      return;
    }
    const places = at.field("rules");
    if (rules.length === 0) places.missing("at least one rules must be specified when the successPolicy is specified");
    if (rules.length > maxRules) places.tooMany(rules.length, maxRules);
    // Their absence is a fault of its own.
    if (completions !== undefined) at.each("rules", (at) => validateSuccessRule(at, completions));
  });
}

/** As upstream's own type shows it. */
const inGo = ({ succeededIndexes = null, succeededCount = null }: Nullable<SuccessPolicyRule>) => ({
  SucceededIndexes: succeededIndexes,
  SucceededCount: succeededCount,
});
type Nullable<T> = { [K in keyof T]: T[K] | null };

function validateSuccessRule(at: Cursor<SuccessPolicyRule>, completions: number): void {
  const { succeededIndexes, succeededCount } = at.value;
  if (succeededIndexes === undefined && succeededCount === undefined) {
    at.missing("at least one of succeededCount or succeededIndexes must be specified");
  }
  let total = completions;
  at.on("succeededIndexes", (at) => {
    if (at.value.length > maxIndexesLength) {
      at.tooLong(maxIndexesLength);
      return;
    }
    const indexes = countIndexes(at.value, completions);
    if (indexes.fault !== undefined) at.invalid(`error parsing succeededIndexes: ${indexes.fault}`);
    total = indexes.total;
  });
  at.on("succeededCount", (at) => {
    const limit = "must be less than or equal to";
    if (at.value > completions) at.invalid(`${limit} ${completions} (the number of specified completions)`);
    if (succeededIndexes === undefined || at.value <= total) return;
    at.invalid(`${limit} ${total} (the number of indexes in the specified succeededIndexes field)`);
  });
}
