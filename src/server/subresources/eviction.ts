import { Pod } from "#api/core/pod.ts";
import { withCondition } from "#api/meta/condition.ts";
import { type DeleteOptions } from "#api/meta/delete-options.ts";
import { Eviction } from "#api/policy/eviction.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Resource } from "#api/resource.ts";
import { badRequest, ignoreNotFound, invalid, isConflict, StatusError } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { type Informer } from "#runtime/informer.ts";
import { invalidValue, root } from "#schema/field-error.ts";
import { readObject } from "#server/input/body.ts";
import { writeOptions } from "#server/input/options.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { deleteObject } from "#server/write/delete.ts";
import { admissionRequest } from "#server/write/steps/admit.ts";
import { checkPreconditions } from "#server/write/steps/preconditions.ts";
import { updateObject } from "#server/write/update.ts";
import { type Write, type WriteDeps } from "#server/write/write.ts";
import { isUnprotected, planDisruption, stillProcessed } from "./disruption-budget.ts";

/** POST pods/NAME/eviction: deletes the pod if its disruption budget allows it. */
export function evictionEndpoint(deps: WriteDeps, budgets: Informer<PodDisruptionBudget>) {
  const evictor = new Evictor(deps, budgets);
  return async (context: Context, _resource: Resource): Promise<Answer> => {
    const options = writeOptions(context, "CreateOptions");
    const eviction = await readObject(context, Eviction, options);
    const { namespace, name } = context.info;
    if (eviction.metadata.name && eviction.metadata.name !== name) {
      throw badRequest(`name in URL does not match name in Eviction object`);
    }
    const sent = eviction.deleteOptions ?? {};
    refuseUnreadable(sent, name);
    const isDry = options.dryRun || (sent.dryRun?.length ?? 0) > 0;
    const write: Write<Pod> = {
      context,
      resource: Pod,
      subresource: "",
      namespace,
      name,
      options: { ...options, dryRun: isDry },
      trusted: true,
      // Upstream records no manager for an eviction.
      applied: true,
    };
    // Before the budget is asked: an eviction that is refused must not take from it.
    await admitEviction(deps, write, eviction);
    await evictor.evict(write, sent);
    return {
      type: "value",
      status: 201,
      value: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
    };
  };
}

/** Admitted like a write, because nodes may evict only their own pods. */
async function admitEviction({ admission }: WriteDeps, write: Write<Pod>, eviction: Eviction): Promise<void> {
  const { namespace, name } = write;
  const object = { ...eviction, metadata: { ...eviction.metadata, namespace, name } };
  const request = admissionRequest({ ...(write as unknown as Write), subresource: "eviction" }, "CREATE", { object });
  await admission.mutate(request);
  await admission.validate(request);
}

function refuseUnreadable(
  { ignoreStoreReadErrorWithClusterBreakingPotential: isSet }: DeleteOptions,
  name: string,
): void {
  if (!isSet) return;
  const path = root.child("deleteOptions").child("ignoreStoreReadErrorWithClusterBreakingPotential");
  const why = "can not be set for pod eviction, try after removing the option";
  throw invalid({ group: "policy", kind: "Eviction" }, name, [invalidValue(path, true, why)]);
}

const maxAttempts = 20;

class Evictor {
  readonly #deps: WriteDeps;
  readonly #budgets: Informer<PodDisruptionBudget>;
  /** Evictions ask their budget one after another, so that they do not conflict with each other. By namespace. */
  readonly #turns = new Map<string, { readonly turn: Semaphore; waiting: number }>();

  constructor(deps: WriteDeps, budgets: Informer<PodDisruptionBudget>) {
    this.#deps = deps;
    this.#budgets = budgets;
  }

  async evict(write: Write<Pod>, sent: DeleteOptions): Promise<void> {
    if (await this.#evictUnprotected(write, sent)) return;
    const plan = await this.#inTurn(write.namespace, () => this.#charge(write));
    if (plan.isReady) return await this.#delete(write, sent);
    try {
      await this.#delete(write, atVersion(sent, plan.pod));
    } catch (error) {
      // The pod changed meanwhile, and may be ready now.
      if (isConflict(error) && !sent.preconditions?.resourceVersion) throw stillProcessed(plan.budgetName);
      throw error;
    }
  }

  /** Pods that have ended or have not started are deleted without asking. */
  async #evictUnprotected(write: Write<Pod>, sent: DeleteOptions): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      const { object: pod } = await this.#deps.objects.get(Pod, write.namespace, write.name);
      if (!isUnprotected(pod)) return false;
      const isStarting = pod.status.phase === "Pending" && !pod.metadata.deletionTimestamp;
      try {
        await this.#delete(write, isStarting ? atVersion(sent, pod) : sent);
        return true;
      } catch (error) {
        const { uid = pod.metadata.uid, resourceVersion } = sent.preconditions ?? {};
        const isRace = isConflict(error) && resourceVersion === undefined && uid === pod.metadata.uid;
        if (!isRace || attempt >= maxAttempts) throw error;
      }
    }
  }

  /** Takes the eviction from the budget of the pod. */
  async #charge({ namespace, name, options }: Write<Pod>): Promise<Charged> {
    let budgetName = "";
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const { object: pod } = await this.#deps.objects.get(Pod, namespace, name);
      const plan = planDisruption(pod, this.#budgets.list(namespace), this.#deps.clock.now());
      if (plan.type === "evict-unready") return { isReady: false, pod, budgetName: plan.budgetName };
      if (plan.type === "evict" || options.dryRun) return { isReady: true };
      const { budget, status } = plan;
      budgetName = budget.metadata.name;
      const next = { ...budget, metadata: { ...budget.metadata }, status };
      const expected = Number(budget.metadata.resourceVersion);
      // A budget that was deleted meanwhile protects nothing: the next attempt does not find it.
      const written = await this.#deps.objects.replace(PodDisruptionBudget, next, expected).catch(ignoreNotFound);
      if (written) return { isReady: true };
    }
    const why = `Timeout: couldn't update PodDisruptionBudget ${JSON.stringify(budgetName)} due to conflicts`;
    throw new StatusError("Timeout", why, { retryAfterSeconds: 10 });
  }

  async #inTurn<R>(namespace: string, task: () => Promise<R>): Promise<R> {
    const lane = this.#turns.get(namespace) ?? { turn: new Semaphore(1), waiting: 0 };
    this.#turns.set(namespace, lane);
    lane.waiting++;
    try {
      return await lane.turn.take(task);
    } finally {
      if (--lane.waiting === 0) this.#turns.delete(namespace);
    }
  }

  /** Notes in the pod why it is deleted, then deletes it. */
  async #delete(write: Write<Pod>, options: DeleteOptions): Promise<void> {
    const { context, namespace, name } = write;
    const plain: Write = {
      context,
      resource: Pod as unknown as Resource,
      subresource: "",
      namespace,
      name,
      options: write.options,
    };
    if (write.options.dryRun) {
      await deleteObject(this.#deps, plain, options);
      return;
    }
    const noted = await updateObject(this.#deps, { ...write, subresource: "status" }, (pod) => {
      checkPreconditions(plain.resource, pod, options);
      return withNote(pod, timestamp(this.#deps.clock.now()));
    });
    const isPinned = options.preconditions?.resourceVersion !== undefined;
    const pinned = isPinned ? atRevision(options, String(noted.revision)) : options;
    await deleteObject(this.#deps, plain, pinned);
  }
}

type Charged = { readonly isReady: true } | { readonly isReady: false; readonly pod: Pod; readonly budgetName: string };

const atVersion = (options: DeleteOptions, { metadata }: Pod): DeleteOptions =>
  options.preconditions?.resourceVersion === undefined ? atRevision(options, metadata.resourceVersion) : options;
const atRevision = (options: DeleteOptions, resourceVersion: string): DeleteOptions => ({
  ...options,
  preconditions: { ...options.preconditions, resourceVersion },
});

function withNote(pod: Pod, lastTransitionTime: string): Pod {
  const condition = {
    type: "DisruptionTarget",
    status: "True" as const,
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastTransitionTime,
  };
  return {
    ...pod,
    metadata: { ...pod.metadata },
    status: { ...pod.status, conditions: withCondition(pod.status.conditions, condition) },
  };
}
