import { Deployment, type DeploymentStatus } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isEmptySelector } from "#api/meta/label-selector.ts";
import { controllerOf, isControlledBy, ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { revisionAnnotation } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { claim } from "#controllers/shared/claim.ts";
import { adopters, ownedBy } from "#controllers/shared/dependents.ts";
import { isNamespaceEnding } from "#controllers/shared/namespace-ending.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { hasProgressDeadline } from "./limits.ts";
import { byAge, planRollout, type RolloutPlan, type Scaling, type Situation } from "./plan-rollout.ts";
import { hashLabel, podTemplateHash, sameTemplate } from "./pod-template-hash.ts";
import { newSetAnnotations, nextRevision, sizeAnnotations } from "./revision.ts";
import { deploymentStatus, nextProgressCheckMs, withCondition } from "./status.ts";

/** Moves a deployment's pods to its newest template, step by step, through one ReplicaSet for each template. */
export function deploymentController(deps: ReconcilerDeps): Reconciler<Deployment> {
  const { client, informers, clock } = deps;
  const sets = informers.of(ReplicaSet);
  const pods = informers.of(Pod);
  const deployments = informers.of(Deployment);
  return {
    name: "deployment",
    reconciles: Deployment,
    owns: [ReplicaSet],
    watches: [
      watch(ReplicaSet, (change) => adopters(change, deployments, ({ spec }) => spec.selector)),
      watch(Pod, (change) => recreated(change, { sets, deployments })),
    ],

    async reconcile(deployment, signal) {
      if (isEmptySelector(deployment.spec.selector)) return await refuse(deps, deployment, signal);
      const { selector } = deployment.spec;
      const request = { owner: deployment, ownerResource: Deployment, dependents: sets, selector };
      const found = split(deployment, await claim(client, request, signal), pods);
      const situation = await syncNewSet(deps, { deployment, situation: found }, signal);
      const plan = planRollout(deployment, situation);
      const after = await carryOut(deps, { deployment, situation, plan }, signal);

      const { isRollout } = plan;
      const status = deploymentStatus(deployment, { ...after, isRollout, nowMs: clock.now() });
      await writeStatus(deps, { deployment, status, newSet: after.newSet }, signal);
      return againAfter(isRollout ? nextProgressCheckMs(deployment, status, clock.now()) : undefined);
    },
  };
}

/** A deployment with the Recreate strategy waits until the last of its old pods is gone. */
function* recreated(
  { type, object }: Change<Pod>,
  { sets, deployments }: { sets: Informer<ReplicaSet>; deployments: Informer<Deployment> },
): Iterable<Wake> {
  if (type !== "delete") return;
  const { namespace } = object.metadata;
  const owner = controllerOf(object);
  const set = owner?.kind === "ReplicaSet" ? sets.get({ namespace, name: owner.name }) : undefined;
  const top = set && controllerOf(set);
  if (top?.kind !== "Deployment") return;
  const deployment = deployments.get({ namespace, name: top.name });
  if (deployment?.spec.strategy.type === "Recreate") yield { namespace, name: top.name };
}

async function refuse(deps: ReconcilerDeps, deployment: Deployment, signal: AbortSignal): Promise<void> {
  const message = "This deployment is selecting all pods. A non-empty selector is required.";
  deps.events.event(referenceTo(Deployment, deployment), "Warning", "SelectingAll", message);
  const { generation = 0 } = deployment.metadata;
  if ((deployment.status.observedGeneration ?? 0) >= generation) return;
  const status = { ...deployment.status, observedGeneration: generation };
  await writeStatusIfChanged(deps, { resource: Deployment, object: deployment, status }, signal);
}

/** If several sets have the template, the oldest is the new one. */
function split(deployment: Deployment, sets: readonly ReplicaSet[], pods: Informer<Pod>): Situation {
  const { template } = deployment.spec;
  const newSet = sets.toSorted(byAge).find((set) => sameTemplate(set.spec.template, template));
  const oldSets = sets.filter((set) => set !== newSet);
  const oldPodsRunning =
    deployment.spec.strategy.type === "Recreate" &&
    oldSets.some((set) => ownedBy(pods, set).some((pod) => !isFinished(pod)));
  return { newSet, oldSets, oldPodsRunning };
}

interface Round {
  readonly deployment: Deployment;
  readonly situation: Situation;
}

/** Updates revision, copied annotations and minReadySeconds of the new set. */
async function syncNewSet(
  { client }: ReconcilerDeps,
  { deployment, situation }: Round,
  signal: AbortSignal,
): Promise<Situation> {
  const { newSet, oldSets } = situation;
  if (!newSet) return situation;
  const { annotations: current } = newSet.metadata;
  const annotations = newSetAnnotations(deployment, current, nextRevision(oldSets));
  const { minReadySeconds = 0 } = deployment.spec;
  if (equal(annotations, current ?? {}) && (newSet.spec.minReadySeconds ?? 0) === minReadySeconds) return situation;
  const updated = await client.update(
    ReplicaSet,
    {
      ...newSet,
      metadata: { ...newSet.metadata, annotations },
      spec: { ...newSet.spec, minReadySeconds },
    },
    { signal },
  );
  return { ...situation, newSet: updated };
}

interface After extends Pick<Situation, "newSet" | "oldSets"> {
  readonly created: boolean;
}

async function carryOut(
  deps: ReconcilerDeps,
  { deployment, situation, plan }: Round & { readonly plan: RolloutPlan },
  signal: AbortSignal,
): Promise<After> {
  const { newSet, oldSets } = situation;
  if (plan.create !== undefined) {
    const set = newReplicaSet(deployment, oldSets, plan.create);
    return { oldSets, ...(await createSet(deps, { deployment, set }, signal)) };
  }
  const written = new Map<ReplicaSet, ReplicaSet>();
  for (const scaling of plan.scale) written.set(scaling.set, await scale(deps, { deployment, ...scaling }, signal));
  for (const set of plan.remove) {
    const { uid } = set.metadata;
    await deps.client.delete(ReplicaSet, set, { preconditions: { uid }, signal }).catch(ignoreNotFound);
  }
  const now = (set: ReplicaSet): ReplicaSet => written.get(set) ?? set;
  return { newSet: newSet && now(newSet), oldSets: oldSets.map(now), created: false };
}

async function scale(
  { client, events }: ReconcilerDeps,
  { deployment, set, replicas }: Scaling & { readonly deployment: Deployment },
  signal: AbortSignal,
): Promise<ReplicaSet> {
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
  const { replicas: before } = set.spec;
  if (before === replicas && equal(annotations, set.metadata.annotations)) return set;
  const metadata = { ...set.metadata, annotations };
  const updated = await client.update(ReplicaSet, { ...set, metadata, spec: { ...set.spec, replicas } }, { signal });
  if (before !== replicas) {
    const direction = before < replicas ? "up" : "down";
    const message = `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`;
    events.event(referenceTo(Deployment, deployment), "Normal", "ScalingReplicaSet", message);
  }
  return updated;
}

const maxNameLength = 253;

/** The set for the deployment's template. Its name comes from the content, so a retry produces the same name. */
export function newReplicaSet(
  deployment: Deployment,
  oldSets: readonly ReplicaSet[],
  replicas: number,
): InputOf<ReplicaSet> & { metadata: { namespace: string; name: string } } {
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = podTemplateHash(template, deployment.status.collisionCount);
  const labels = { ...template.metadata.labels, [hashLabel]: hash };
  const { name, namespace } = deployment.metadata;
  return {
    metadata: {
      namespace,
      name: `${name.slice(0, maxNameLength - 1 - hash.length)}-${hash}`,
      labels,
      annotations: {
        ...newSetAnnotations(deployment, undefined, nextRevision(oldSets)),
        ...sizeAnnotations(deployment),
      },
      ownerReferences: [ownerRefTo(Deployment, deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds ? { minReadySeconds } : {}),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

async function createSet(
  deps: ReconcilerDeps,
  { deployment, set }: { readonly deployment: Deployment; readonly set: ReturnType<typeof newReplicaSet> },
  signal: AbortSignal,
): Promise<{ newSet: ReplicaSet | undefined; created: boolean }> {
  const { client, events } = deps;
  const { name } = set.metadata;
  const about = referenceTo(Deployment, deployment);
  try {
    const newSet = await client.create(ReplicaSet, set, { signal });
    const { replicas } = newSet.spec;
    if (replicas > 0) {
      events.event(about, "Normal", "ScalingReplicaSet", `Scaled up replica set ${name} from 0 to ${replicas}`);
    }
    return { newSet, created: true };
  } catch (error) {
    if (signal.aborted || isNamespaceEnding(error)) throw error;
    if (isAlreadyExists(error)) {
      return { newSet: await ownOrCollision(deps, { deployment, name, error }, signal), created: false };
    }
    const why = messageOf(error);
    const message = `Failed to create new replica set "${name}": ${why}`;
    events.event(about, "Warning", "ReplicaSetCreateError", message);
    await noteFailure(deps, { deployment, message }, signal);
    throw error;
  }
}

/** A set of ours that the cache did not show yet, or another one with that name: then the next name is tried. */
async function ownOrCollision(
  deps: ReconcilerDeps,
  { deployment, name, error }: { readonly deployment: Deployment; readonly name: string; readonly error: unknown },
  signal: AbortSignal,
): Promise<ReplicaSet> {
  const { namespace } = deployment.metadata;
  const set = await deps.client.get(ReplicaSet, { namespace, name }, { signal });
  if (isControlledBy(set, deployment) && sameTemplate(set.spec.template, deployment.spec.template)) return set;
  const collisionCount = (deployment.status.collisionCount ?? 0) + 1;
  const status = { ...deployment.status, collisionCount };
  await writeStatusIfChanged(deps, { resource: Deployment, object: deployment, status }, signal);
  deps.log.info("the name of a new replica set is taken", { replicaSet: `${namespace}/${name}`, collisionCount });
  throw error;
}

async function noteFailure(
  deps: ReconcilerDeps,
  { deployment, message }: { readonly deployment: Deployment; readonly message: string },
  signal: AbortSignal,
): Promise<void> {
  if (!hasProgressDeadline(deployment)) return;
  const news = { type: "Progressing", status: "False", reason: "ReplicaSetCreateError", message };
  const conditions = [...withCondition(deployment.status.conditions ?? [], news, deps.clock.now())];
  const status = { ...deployment.status, conditions };
  await writeStatusIfChanged(deps, { resource: Deployment, object: deployment, status }, signal);
}

/** Writes the status, and with it the revision of the new set. */
async function writeStatus(
  deps: ReconcilerDeps,
  {
    deployment,
    status,
    newSet,
  }: { readonly deployment: Deployment; readonly status: DeploymentStatus; readonly newSet: ReplicaSet | undefined },
  signal: AbortSignal,
): Promise<void> {
  const revision = newSet?.metadata.annotations?.[revisionAnnotation];
  const { annotations: current } = deployment.metadata;
  const annotations = revision ? { ...current, [revisionAnnotation]: revision } : current;
  const metadata = { ...deployment.metadata, ...(annotations ? { annotations } : {}) };
  await writeStatusIfChanged(deps, { resource: Deployment, object: deployment, metadata, status }, signal);
}
