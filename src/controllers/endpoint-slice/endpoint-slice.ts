import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { ignoreNotFound } from "#api/status.ts";
import { managedByLabel, serviceNameLabel, triggerTimeAnnotation } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { isNamespaceEnding } from "#controllers/shared/namespace-ending.ts";
import { Selections } from "#controllers/shared/selections.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { Pace } from "../pace.ts";
import { addHints, type HintNews } from "./add-hints.ts";
import { addressTypesOf, endpointsOf } from "./endpoints-of.ts";
import { followPods } from "./follow-pods.ts";
import { NodeShares } from "./node-shares.ts";
import { manager, planSlices, type SlicePlan } from "./plan-slices.ts";
import { TriggerTimes } from "./trigger-times.ts";
import { wantsZoneHints } from "./zone-hints.ts";

/** Maintains, for every service with a selector, the slices with its endpoints. */
export function endpointSliceController(deps: ReconcilerDeps): Reconciler<Service> {
  const { informers, clock, events } = deps;
  const services = informers.of(Service);
  const selections = new Selections(services, informers.of(Pod));
  const nodes = informers.of(Node);
  const shares = new NodeShares(nodes, services);
  const slices = informers.of(EndpointSlice);
  const triggerTimes = new TriggerTimes();
  const pace = new Pace(clock);
  return {
    name: "endpointslice",
    reconciles: Service,
    watches: [watch(EndpointSlice, serviceOf), watch(Node, (change) => shares.affectedBy(change))],
    follow: (wake) => followPods(selections, wake),

    async reconcile(service, signal) {
      const { selector, type } = service.spec;
      if (type === "ExternalName" || !selector || Object.keys(selector).length === 0) return;
      const waitMs = pace.waitMs(service);
      if (waitMs > 0) return againAfter(waitMs);
      const { namespace, name } = service.metadata;
      const selected = selections.podsOf(service);
      const existing = slices.by("service", `${namespace}/${name}`).filter(isOurs);
      const plan = planAll(service, { selected, existing, nodes, shares });
      for (const { type, reason, message } of plan.news)
        events.event(referenceTo(Service, service), type, reason, message);
      const time = triggerTimes.next(service, selected);
      try {
        await carryOut(deps, { service, plan, time }, signal);
        if (plan.withoutNode.length > 0) throw missingNodeError(service, plan.withoutNode);
      } catch (error) {
        if (signal.aborted) throw error;
        const why = messageOf(error);
        const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: ${why}`;
        events.event(referenceTo(Service, service), "Warning", "FailedToUpdateEndpointSlices", message);
        throw error;
      }
      pace.settled(service, selected.length);
      return undefined;
    },
    async gone(ref) {
      triggerTimes.forget(ref);
      pace.forget(ref);
    },
  };
}

const isOurs = ({ metadata }: EndpointSlice): boolean =>
  metadata.labels?.[managedByLabel] === manager && !metadata.deletionTimestamp;

interface FullPlan extends SlicePlan {
  readonly withoutNode: Pod[];
  readonly news: HintNews[];
}

interface SliceWorld {
  readonly selected: readonly Pod[];
  readonly existing: readonly EndpointSlice[];
  readonly nodes: Informer<Node>;
  readonly shares: NodeShares;
}

function planAll(service: Service, { selected, existing, nodes, shares }: SliceWorld): FullPlan {
  const types = addressTypesOf(service);
  const plan: FullPlan = { create: [], update: [], remove: [], withoutNode: [], news: [] };
  const nodeOf = (name: string) => nodes.get({ name });
  for (const type of types) {
    const { groups, withoutNode } = endpointsOf(service, selected, { type, nodeOf });
    const slices = existing.filter(({ addressType }) => addressType === type);
    const news = wantsZoneHints(service) && addHints(groups, { type, slices, shares: shares.now() });
    if (news) plan.news.push(news);
    const { create, update, remove } = planSlices(service, groups, { type, slices });
    plan.create.push(...create);
    plan.update.push(...update);
    plan.remove.push(...remove);
    plan.withoutNode.push(...withoutNode);
  }
  plan.remove.push(...existing.filter(({ addressType }) => !types.some((type) => type === addressType)));
  return plan;
}

function missingNodeError({ metadata }: Service, pods: readonly Pod[]): Error {
  const service = `${metadata.namespace}/${metadata.name}`;
  const texts = pods.map(
    (pod) => `skipping Pod ${pod.metadata.name} for Service ${service}: Node ${pod.spec.nodeName} Not Found`,
  );
  return new Error(texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
}

async function carryOut(
  { client }: ReconcilerDeps,
  { service, plan, time }: { readonly service: Service; readonly plan: SlicePlan; readonly time: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const annotations = (current: Readonly<Record<string, string>> | undefined): Record<string, string> => {
    const { [triggerTimeAnnotation]: _, ...others } = current ?? {};
    return time ? { ...others, [triggerTimeAnnotation]: time } : others;
  };
  if (!service.metadata.deletionTimestamp) {
    try {
      for (const slice of plan.create) {
        const metadata = { ...slice.metadata, annotations: annotations(undefined) };
        await client.create(EndpointSlice, { ...slice, metadata }, { signal });
      }
    } catch (error) {
      if (isNamespaceEnding(error)) return;
      throw error;
    }
  }
  for (const slice of plan.update) {
    const metadata = { ...slice.metadata, annotations: annotations(slice.metadata.annotations) };
    await client.update(EndpointSlice, { ...slice, metadata }, { signal });
  }
  for (const slice of plan.remove) {
    await client.delete(EndpointSlice, slice, { signal }).catch(ignoreNotFound);
  }
}

/** A slice of ours that somebody else changed or deleted is repaired. */
function* serviceOf({ object }: Change<EndpointSlice>): Iterable<Wake> {
  const { namespace, labels } = object.metadata;
  const name = labels?.[serviceNameLabel];
  if (name && labels?.[managedByLabel] === manager) yield { namespace, name };
}
