import { type Condition, findCondition, withCondition } from "#api/meta/condition.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { ignoreNotFound } from "#api/status.ts";
import { serviceCidrFinalizer } from "#api/well-known.ts";
import { planFinalizers } from "#controllers/protection/protect.ts";
import { timestamp } from "#lib/async/clock.ts";
import { inSlices } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informer } from "#runtime/informer.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { planServiceCidr, rangesOf } from "./plan-service-cidr.ts";

/** Makes ranges of service addresses ready, and keeps those that are being deleted while services need them. */
export function serviceCidrController(deps: ReconcilerDeps): Reconciler<ServiceCIDR> {
  const { informers, clock } = deps;
  const cidrs = informers.of(ServiceCIDR);
  const addresses = informers.of(IPAddress);
  return {
    name: "service-cidr",
    reconciles: ServiceCIDR,
    watches: [
      watch(IPAddress, ({ object }) => endingAround(cidrs, object)),
      // Another range may now contain the addresses of one that is being deleted.
      watch(ServiceCIDR, () => ending(cidrs)),
    ],

    async reconcile(cidr, signal) {
      const { deletionTimestamp, resourceVersion } = cidr.metadata;
      if (deletionTimestamp) await addresses.caughtUpTo(revisionOf(resourceVersion), signal);
      const world = { cidrs: cidrs.list(), addresses: deletionTimestamp ? addresses.list() : [], now: clock.now() };
      const plan = await inSlices(planServiceCidr(cidr, world));
      if (plan.type === "wait") return againAfter(plan.ms);
      if (plan.type === "blocked") return await setCondition(deps, { cidr, wanted: terminating }, signal);
      const current = await setFinalizers(deps, cidr, signal);
      if (current && plan.type === "ready") await setCondition(deps, { cidr: current, wanted: ready }, signal);
      return undefined;
    },
  };
}

/** Puts the finalizer on, or takes it off. Returns the current object. */
async function setFinalizers(
  { client }: ReconcilerDeps,
  cidr: ServiceCIDR,
  signal: AbortSignal,
): Promise<ServiceCIDR | undefined> {
  const finalizers = planFinalizers(cidr, serviceCidrFinalizer);
  if (!finalizers) return cidr;
  const next = { ...cidr, metadata: { ...cidr.metadata, finalizers } };
  return await client.update(ServiceCIDR, next, { signal }).catch(ignoreNotFound);
}

type Ready = Omit<Condition, "lastTransitionTime">;
const ready: Ready = { type: "Ready", status: "True", reason: "", message: "Kubernetes Service CIDR is ready" };
const terminating: Ready = {
  type: "Ready",
  status: "False",
  reason: "Terminating",
  message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
};

async function setCondition(
  { client, clock, events }: ReconcilerDeps,
  { cidr, wanted }: { readonly cidr: ServiceCIDR; readonly wanted: Ready },
  signal: AbortSignal,
): Promise<void> {
  const { conditions } = cidr.status;
  const { lastTransitionTime, ...current } = findCondition(conditions, wanted.type) ?? {};
  if (equal({ reason: "", ...current }, wanted)) return;
  const condition = { ...wanted, lastTransitionTime: timestamp(clock.now()) };
  try {
    const status = { conditions: withCondition(conditions, condition) };
    await client.updateStatus(ServiceCIDR, { ...cidr, status }, { signal }).catch(ignoreNotFound);
  } catch (error) {
    const message = "The ServiceCIDR Status can not be set to Ready=True";
    if (wanted === ready) events.event(cidr, "Warning", "KubernetesServiceCIDRError", message);
    throw error;
  }
}

/** The ranges that are being deleted. */
const ending = (cidrs: Informer<ServiceCIDR>): Wake[] => endingOf(cidrs).map(({ metadata: { name } }) => ({ name }));

/** Those that contain the address, which may hold them up. */
const endingAround = (cidrs: Informer<ServiceCIDR>, { metadata: address }: IPAddress): Wake[] =>
  endingOf(cidrs)
    .filter((cidr) => rangesOf(cidr).some((range) => range.isUsable(address.name)))
    .map(({ metadata: { name } }) => ({ name }));

const endingOf = (cidrs: Informer<ServiceCIDR>): ServiceCIDR[] =>
  cidrs.list().filter(({ metadata }) => metadata.deletionTimestamp);
