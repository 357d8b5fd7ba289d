import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import type { UserInfo } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import type { Client } from "#client/client.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { isAbort, orAborted, runTogether } from "#lib/async/tasks.ts";
import type { Random } from "#lib/data/random.ts";
import type { Kinds } from "#runtime/kinds.ts";
import { objectKey } from "#runtime/object-cache.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { chooseStage, randomPerName } from "./choose-stage.ts";
import { fakeNodeLeases } from "./fake-node-leases.ts";
import { findKind } from "./perform.ts";
import { type Player, type Playing, playStage, reportFault, stagePlayer } from "./play-stage.ts";
import { type Stage, StageFault } from "./stage.ts";
import { type OwnNodes, StageNodes } from "./stage-nodes.ts";

export interface StagesDeps extends Omit<RunDeps, "client"> {
  readonly stages: readonly Stage[];
  /** All kinds that are served. */
  readonly kinds: Kinds;
  readonly random: Random;
  readonly nodes: OwnNodes;
  clientFor(user: UserInfo): Client;
}

/**
 * Whoever starts a server writes its stages, which may change and apply objects of any kind. No role allows that, so they act
 * as an administrator.
 */
const stagesUser: UserInfo = { name: "system:stages", groups: ["system:masters", "system:authenticated"] };

/** Leads the objects of each kind through its stages, until the signal. */
export async function runStages(deps: StagesDeps, signal: AbortSignal): Promise<void> {
  const randomOf = randomPerName(deps.random);
  const run = { ...deps, component: "stages", client: deps.clientFor(stagesUser), randomOf };
  const nodes = new StageNodes(deps.informers, deps.nodes);
  const kinds = Map.groupBy(deps.stages, ({ apiVersion, kind }) => `${apiVersion} ${kind}`);
  const leases = kinds.has("v1 Node") ? [(stop: AbortSignal) => runReconcilers([fakeNodeLeases], run, stop)] : [];
  await runTogether(signal, [
    ...kinds.values().map((stages) => (stop: AbortSignal) => followKind({ ...run, nodes }, stages, stop)),
    ...leases,
  ]);
}

type KindDeps = Omit<StagesDeps, "nodes"> & {
  readonly client: Client;
  readonly nodes: StageNodes;
  /** Random numbers for what has this name. */
  randomOf(name: string): Random;
};

/** Runs the stages of one kind while it is served. Custom kinds come, change and go. */
async function followKind(deps: KindDeps, stages: readonly Stage[], signal: AbortSignal): Promise<void> {
  const [first] = stages;
  if (!first) return;
  const changed = new Nudge();
  const end = deps.kinds.subscribe(() => changed.give());
  try {
    while (!signal.aborted) {
      const resource = findKind(deps.kinds, first);
      if (!resource) deps.log.info("stages wait for their kind", { kind: first.kind, apiVersion: first.apiVersion });
      const over = new AbortController();
      const running = resource
        ? runKind(deps, { resource, stages }, AbortSignal.any([signal, over.signal]))
        : undefined;
      try {
        do await orAborted(changed.taken(), signal);
        while (findKind(deps.kinds, first) === resource);
      } finally {
        over.abort(new Error("the kind has changed"));
        await running;
      }
    }
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    end();
  }
}

interface Kind {
  readonly resource: Resource;
  readonly stages: readonly Stage[];
}

async function runKind(deps: KindDeps, kind: Kind, signal: AbortSignal): Promise<void> {
  try {
    await runReconcilers([(own) => stageReconciler(own, deps, kind)], deps, signal);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  }
}

/** What an object is to do next, and for which of its versions that was decided. */
interface Plan {
  readonly version: string | undefined;
  readonly uid: string;
  /** How many plans the object had before. */
  readonly count: number;
  /** Undefined if there is nothing more to do. */
  playing: Playing | undefined;
}

function stageReconciler(own: ReconcilerDeps, deps: KindDeps, { resource, stages }: Kind): Reconciler {
  const plans = new Map<string, Plan>();
  const player = { ...stagePlayer({ ...deps, ...own }, resource), randomOf: deps.randomOf };
  const keyOf = ({ namespace, name }: { namespace?: string | undefined; name?: string | undefined }): string =>
    objectKey(namespace, name);
  return {
    name: `stages-${resource.kind.toLowerCase()}`,
    reconciles: resource,
    ...wakesFor(resource, deps),
    async reconcile(object, signal) {
      const key = keyOf(object.metadata);
      const known = plans.get(key);
      const isDriving = isDriven(resource, object, deps.nodes);
      // Another object may have the name now, and nobody says then that the first is gone.
      if (known && (!isDriving || known.uid !== object.metadata.uid)) deps.nodes.release(known.uid);
      if (!isDriving) {
        plans.delete(key);
        return undefined;
      }
      const plan = planFor(player, stages, { object, known });
      plans.set(key, plan);
      return await advance(player, plan, signal);
    },
    async gone(ref) {
      deps.nodes.release(plans.get(keyOf(ref))?.uid ?? "");
      plans.delete(keyOf(ref));
    },
  };
}

/** A change of the object begins anew: another stage may be for it now, and its time starts again. */
function planFor(
  player: StagePlayer,
  stages: readonly Stage[],
  { object, known }: { readonly object: ApiObject; readonly known: Plan | undefined },
): Plan {
  const { resourceVersion: version, uid = "", namespace = "", name = "" } = object.metadata;
  if (known?.version === version && known?.uid === uid) return known;
  const count = (known?.count ?? -1) + 1;
  const random = player.randomOf(`${player.resource.kind}/${namespace}/${name}/${count}`);
  const plan: Plan = { version, uid, count, playing: undefined };
  try {
    const choice = chooseStage(stages, object, { nowMs: player.clock.now(), random });
    return { ...plan, playing: choice && { ...choice, object, done: 0 } };
  } catch (error) {
    if (!(error instanceof StageFault)) throw error;
    reportFault(player, object, error.message);
    return plan;
  }
}

type StagePlayer = Player & Pick<KindDeps, "randomOf">;

async function advance(player: Player, plan: Plan, signal: AbortSignal): Promise<Again | undefined> {
  const { playing } = plan;
  if (!playing) return undefined;
  const leftMs = playing.dueMs - player.clock.now();
  if (leftMs > 0) return againAfter(leftMs);
  await playStage(player, playing, signal);
  plan.playing = undefined;
  return undefined;
}

const isPod = (resource: Resource): boolean => apiVersionOf(resource) === "v1" && resource.kind === Pod.kind;
const isNode = (resource: Resource): boolean => apiVersionOf(resource) === "v1" && resource.kind === Node.kind;

/** Pods and nodes are driven where the node is simulated; other objects everywhere. */
function isDriven(resource: Resource, object: ApiObject, nodes: StageNodes): boolean {
  if (isPod(resource)) return nodes.isDriven((object as Pod).spec.nodeName);
  return !isNode(resource) || nodes.isDriven(object.metadata.name);
}

/** What besides a change of the object itself makes it driven: its node. */
function wakesFor(resource: Resource, { nodes }: KindDeps): Partial<Reconciler> {
  if (isNode(resource)) return { follow: (wake) => nodes.subscribe((name) => wake({ name })) };
  if (!isPod(resource)) return {};
  return {
    watches: [
      watch(Node, (change) => {
        const isNew = change.type === "put" && !change.previous;
        return isNew ? nodes.podsOn(change.object.metadata.name).map(({ metadata }) => metadata) : [];
      }),
    ],
    follow: (wake) =>
      nodes.subscribe((name) => {
        for (const { metadata } of nodes.podsOn(name)) wake(metadata);
      }),
  };
}
