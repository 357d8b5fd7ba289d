import { validateNodeAffinity } from "#api/core/pod/validate/validate-affinity.ts";
import { type Cursor } from "#api/cursor.ts";
import { qualifiedName } from "#api/meta/names.ts";
import * as args from "#scheduler/args/plugin-args.ts";
import { parseDuration } from "#schema/duration.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { type ConfigKind } from "#server/config/config-file.ts";

const kindOf = <T>(name: string, schema: ObjectSchema<T>, validate: (at: Cursor<T>) => void): ConfigKind<T> => ({
  kind: `${name}Args`,
  apiVersions: ["kubescheduler.config.k8s.io/v1"],
  schema,
  validate,
});

/** How the arguments of each plugin are read and checked, with upstream's rules and messages. */
export const argsKinds = {
  Coscheduling: kindOf("Coscheduling", args.CoschedulingArgs, (at) => {
    const seconds = at.field("permitWaitingTimeSeconds");
    if (seconds.value < 1 || seconds.value > 900) seconds.invalid("not in valid range [1, 900]");
  }),
  DefaultPreemption: kindOf("DefaultPreemption", args.DefaultPreemptionArgs, validatePreemption),
  DynamicResources: kindOf("DynamicResources", args.DynamicResourcesArgs, (at) => {
    if (parseDuration(at.value.filterTimeout) < 0n) at.field("filterTimeout").invalid("must be zero or positive");
    if (parseDuration(at.value.bindingTimeout) < second)
      at.field("bindingTimeout").invalid("must be at least 1 second");
  }),
  InterPodAffinity: kindOf("InterPodAffinity", args.InterPodAffinityArgs, (at) => {
    const weight = at.field("hardPodAffinityWeight");
    if (weight.value < 0 || weight.value > 100) weight.invalid("not in valid range [0, 100]");
  }),
  NodeAffinity: kindOf("NodeAffinity", args.NodeAffinityArgs, (at) => at.on("addedAffinity", validateNodeAffinity)),
  NodeResourcesBalancedAllocation: kindOf(
    "NodeResourcesBalancedAllocation",
    args.NodeResourcesBalancedAllocationArgs,
    validateBalance,
  ),
  NodeResourcesFit: kindOf("NodeResourcesFit", args.NodeResourcesFitArgs, validateFit),
  PodTopologySpread: kindOf("PodTopologySpread", args.PodTopologySpreadArgs, validateSpread),
  VolumeBinding: kindOf("VolumeBinding", args.VolumeBindingArgs, (at) => {
    if (at.value.bindTimeoutSeconds < 0) {
      at.field("bindTimeoutSeconds").invalid("invalid BindTimeoutSeconds, should not be a negative value");
    }
    const detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
    if (at.value.shape) at.field("shape").invalid(detail);
  }),
} as const;

const second = 1_000_000_000n;

function validatePreemption(at: Cursor<args.DefaultPreemptionArgs>): void {
  const [share, count] = [at.field("minCandidateNodesPercentage"), at.field("minCandidateNodesAbsolute")];
  if (share.value < 0 || share.value > 100) share.invalid("not in valid range [0, 100]");
  if (count.value < 0) count.invalid("not in valid range [0, inf)");
  if (share.value !== 0 || count.value !== 0) return;
  share.invalid("cannot be zero at the same time as minCandidateNodesAbsolute");
  count.invalid("cannot be zero at the same time as minCandidateNodesPercentage");
}

function validateBalance(at: Cursor<args.BalancedAllocationArgs>): void {
  const seen = new Set<unknown>();
  at.each("resources", (at) => {
    at.field("name").unique(seen);
    if ((at.value.weight || 1) !== 1) at.field("weight").invalid("must be 1");
  });
}

const strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];

function validateFit(at: Cursor<args.NodeResourcesFitArgs>): void {
  at.each("ignoredResources", (at) => at.rule(qualifiedName));
  at.each("ignoredResourceGroups", (at) => {
    if (at.value.includes("/")) at.invalid("resource group name can't contain '/'");
    at.rule(qualifiedName);
  });
  at.on("scoringStrategy", (at) => {
    const { type = "", requestedToCapacityRatio } = at.value;
    at.field("type").as(type).oneOf(strategies);
    at.each("resources", validateResource);
    const ratio = at.field("requestedToCapacityRatio");
    if (type !== "RequestedToCapacityRatio") {
      if (requestedToCapacityRatio) ratio.forbidden("must be nil when type is not RequestedToCapacityRatio");
      return;
    }
    if (!requestedToCapacityRatio) ratio.missing("must be specified when type is RequestedToCapacityRatio");
    at.on("requestedToCapacityRatio", validateShape);
  });
}

function validateResource(at: Cursor<args.ResourceSpec>): void {
  const weight = at.value.weight || 1;
  if (weight > 0 && weight <= 100) return;
  at.field("weight").invalid(`resource weight of ${at.value.name} not in valid range (0, 100]`);
}

function validateShape(at: Cursor<{ shape?: args.ShapePoint[] }>): void {
  const { shape = [] } = at.value;
  if (shape.length === 0) return at.field("shape").missing("at least one point must be specified");
  let isSorted = true;
  at.each("shape", (at, index) => {
    const { utilization, score } = at.value;
    const before = shape[index - 1]?.utilization ?? Number.NEGATIVE_INFINITY;
    if (isSorted && before >= utilization) {
      isSorted = false;
      at.field("utilization").invalid("values must be sorted in increasing order");
    }
    if (utilization < 0 || utilization > 100) at.field("utilization").invalid("not in valid range [0, 100]");
    if (score < 0 || score > 10) at.field("score").invalid("not in valid range [0, 10]");
  });
}

function validateSpread(at: Cursor<args.PodTopologySpreadArgs>): void {
  const { defaultingType: type, defaultConstraints = [] } = at.value;
  if (type !== "System" && type !== "List") at.field("defaultingType").unsupported(["System", "List"]);
  if (type === "System" && defaultConstraints.length > 0) {
    at.field("defaultingType").invalid("when .defaultConstraints are not empty");
  }
  const seen = new Set<string>();
  at.each("defaultConstraints", (at) => {
    const { maxSkew, topologyKey, whenUnsatisfiable, labelSelector } = at.value;
    if (maxSkew <= 0) at.field("maxSkew").invalid("not in valid range (0, inf)");
    if (at.field("topologyKey").required("can not be empty")) at.field("topologyKey").rule(qualifiedName);
    at.field("whenUnsatisfiable").required("can not be empty");
    if (labelSelector) {
      at.field("labelSelector").forbidden("constraint must not define a selector, as they deduced for each pod");
    }
    const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (seen.has(pair)) at.duplicate(pair);
    seen.add(pair);
  });
}
