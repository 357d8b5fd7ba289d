import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { type LabelSelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { withDisruptionCondition } from "#api/policy/disruption-allowed.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Resource } from "#api/resource.ts";
import { isConflict } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { shownSelector } from "../shared/shown-selector.ts";
import { writeStatusIfChanged } from "../shared/write-status.ts";
import { expectedScale } from "./expected-scale.ts";
import { needsScale, planBudget } from "./plan-budget.ts";

/** Counts the healthy pods of each budget, and says how many of them may be evicted. */
export const disruptionController =
  (resources: () => readonly Resource[]) =>
  (deps: ReconcilerDeps): Reconciler<PodDisruptionBudget> => {
    const budgets = deps.informers.of(PodDisruptionBudget);
    const pods = deps.informers.of(Pod);
    return {
      name: "disruption",
      reconciles: PodDisruptionBudget,
      watches: [watch(Pod, (change) => budgetsOf(deps, budgets, change))],

      async reconcile(budget, signal) {
        const { namespace } = budget.metadata;
        const selected = pods.list(namespace).filter(({ metadata }) => matches(budget.spec.selector, metadata.labels));
        try {
          return await showBudget({ ...deps, resources }, { budget, pods: selected }, signal);
        } catch (error) {
          if (isConflict(error) || signal.aborted) throw error;
          await failSafe(deps, { budget, error }, signal);
          return undefined;
        }
      },
    };
  };

/** The budgets that select the pod, or did before the change. */
function budgetsOf(
  { events }: Pick<ReconcilerDeps, "events">,
  budgets: Informer<PodDisruptionBudget>,
  change: Change<Pod>,
): { namespace: string; name: string }[] {
  const { namespace, name, labels } = change.object.metadata;
  const previous = change.type === "put" ? change.previous : undefined;
  const all = budgets.list(namespace);
  if (all.length === 0 || (previous && !isRelevant(previous, change.object))) return [];
  const found = all.filter(
    ({ spec }) => matches(spec.selector, labels) || (previous && matches(spec.selector, previous.metadata.labels)),
  );
  const [first] = found;
  if (first && found.length > 1 && change.type === "put" && !previous) {
    const text = `Pod ${JSON.stringify(namespace)}/${JSON.stringify(name)} matches multiple PodDisruptionBudgets.  Chose ${JSON.stringify(first.metadata.name)} arbitrarily.`;
    events.event(change.object, "Warning", "MultiplePodDisruptionBudgets", text);
  }
  return found.map(({ metadata }) => metadata);
}

/** Only what a budget counts: most changes of a pod are none of its business. */
const isRelevant = (before: Pod, after: Pod): boolean =>
  before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
  isReady(before) !== isReady(after) ||
  !equal(before.metadata.labels, after.metadata.labels) ||
  !equal(before.metadata.ownerReferences, after.metadata.ownerReferences);

interface Selected {
  readonly budget: PodDisruptionBudget;
  readonly pods: readonly Pod[];
}

async function showBudget(
  deps: ReconcilerDeps & { resources(): readonly Resource[] },
  { budget, pods }: Selected,
  signal: AbortSignal,
): Promise<Again | undefined> {
  const { events, clock } = deps;
  if (pods.length === 0) events.event(budget, "Normal", "NoPods", "No matching pods found");
  const scale = needsScale(budget) ? await scaleOf(deps, { budget, pods }, signal) : 0;
  const nowMs = clock.now();
  const { status, notDeleted, againAtMs } = planBudget({ budget, pods, expectedScale: scale, nowMs });
  const { namespace } = budget.metadata;
  for (const pod of notDeleted) {
    // Upstream names the namespace twice.
    const text = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`;
    events.event(pod, "Warning", "NotDeleted", text);
  }
  await writeStatusIfChanged(deps, { resource: PodDisruptionBudget, object: budget, status }, signal);
  return againAfter(againAtMs === undefined ? undefined : againAtMs - nowMs);
}

async function scaleOf(
  deps: ReconcilerDeps & { resources(): readonly Resource[] },
  { budget, pods }: Selected,
  signal: AbortSignal,
): Promise<number> {
  const { events } = deps;
  try {
    const { count, unmanaged } = await expectedScale(deps, pods, signal);
    if (unmanaged.length > 0) events.event(budget, "Warning", "UnmanagedPods", unmanagedText(budget.spec.selector));
    return count;
  } catch (error) {
    const text = `Failed to calculate the number of expected pods: ${messageOf(error)}`;
    if (!signal.aborted) events.event(budget, "Warning", "CalculateExpectedPodCountFailed", text);
    throw error;
  }
}

const unmanagedText = (selector: LabelSelector | undefined): string =>
  `Pods selected by this PodDisruptionBudget (selector: ${shownSelector(selector ?? {})}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;

/** A budget that cannot be counted allows nothing. */
async function failSafe(
  deps: ReconcilerDeps,
  { budget, error }: { readonly budget: PodDisruptionBudget; readonly error: unknown },
  signal: AbortSignal,
): Promise<void> {
  deps.log.warn("a disruption budget cannot be counted", { budget: budget.metadata.name, error });
  const failed = { status: "False", reason: "SyncFailed", message: truncateBytes(messageOf(error), 32_768) };
  const status = withDisruptionCondition({ ...budget.status, disruptionsAllowed: 0 }, failed, deps.clock.now());
  await writeStatusIfChanged(deps, { resource: PodDisruptionBudget, object: budget, status }, signal);
}
