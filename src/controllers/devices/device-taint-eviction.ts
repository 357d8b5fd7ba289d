import { resourceClaimKeysOf } from "#api/core/pod/pod-references.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { type DeviceRequestAllocationResult } from "#api/devices/claim-status.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { referenceTo } from "#client/events.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { keyOf, objectKey } from "#runtime/object-cache.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { disruptPod } from "../node/disrupt-pod.ts";
import { planDeviceEviction, type TaintedDevice } from "./plan-device-eviction.ts";

/**
 * Deletes pods whose devices have NoExecute taints once their claims no longer tolerate them.
 *
 *     ResourceSlice ─ tainted device ─→ ResourceClaim ─ reservedFor ─→ Pod
 */
export function deviceTaintEvictionController(deps: ReconcilerDeps): Reconciler<Pod> {
  const { informers, clock, events } = deps;
  informers.of(ResourceSlice).addIndex(byPool, poolOfSlice);
  informers.of(ResourceSlice).addIndex(byTaintedPool, poolIfTainted);
  informers.of(ResourceSlice).addIndex(byTaintedDevice, taintedDevices);
  informers.of(ResourceClaim).addIndex(byPool, poolsOfClaim);
  /** Pods with a planned eviction, to report a cancellation. */
  const planned = new Set<string>();
  return {
    name: "device-taint-eviction",
    reconciles: Pod,
    concerns: (pod) => resourceClaimKeysOf(pod).length > 0,
    watches: [
      watch(ResourceClaim, (change) =>
        [change.object, previousOf(change)].flatMap((claim) => (claim ? consumersOf(claim) : [])),
      ),
      watch(ResourceSlice, (change) => podsOfPool(informers, change)),
    ],

    async reconcile(pod, signal) {
      const key = keyOf(pod);
      const about = referenceTo(Pod, pod);
      const canLeave = pod.spec.nodeName && !pod.metadata.deletionTimestamp && !isFinished(pod);
      const dueMs = canLeave ? planDeviceEviction(taintedDevicesOf(informers, pod)) : undefined;
      if (dueMs === undefined) {
        if (planned.delete(key) && !pod.metadata.deletionTimestamp) {
          events.event(about, "Normal", "DeviceTaintManagerEviction", "Cancelling deletion");
        }
        return undefined;
      }
      planned.add(key);
      if (dueMs > clock.now()) return againAfter(dueMs - clock.now());
      events.event(about, "Normal", "DeviceTaintManagerEviction", "Marking for deletion");
      const reason = "DeletionByDeviceTaintManager";
      await disruptPod(deps, { pod, reason, message: "Device Taint manager: deleting due to NoExecute taint" }, signal);
      planned.delete(key);
      return undefined;
    },
    async gone({ namespace, name }) {
      planned.delete(objectKey(namespace, name));
    },
  };
}

const byPool = "device pool";
const byTaintedPool = "device pool with NoExecute taints";
const byTaintedDevice = "device with NoExecute taints";

// Names of drivers and devices have no slash.
const poolKey = (driver: string, pool: string): string => `${driver}/${pool}`;
const deviceKey = (driver: string, pool: string, device: string): string => `${driver}/${device}/${pool}`;

const poolOfSlice = ({ spec }: ResourceSlice): string[] => [poolKey(spec.driver, spec.pool.name)];

const poolIfTainted = (slice: ResourceSlice): string[] => (taintedDevices(slice).length > 0 ? poolOfSlice(slice) : []);

const taintedDevices = ({ spec: { driver, pool, devices = [] } }: ResourceSlice): string[] =>
  devices
    .filter(({ taints }) => taints?.some(({ effect }) => effect === "NoExecute"))
    .map(({ name }) => deviceKey(driver, pool.name, name));

const resultsOf = ({ status }: ResourceClaim): readonly DeviceRequestAllocationResult[] =>
  status.allocation?.devices.results ?? [];

const poolsOfClaim = (claim: ResourceClaim): string[] => [
  ...new Set(resultsOf(claim).map(({ driver, pool }) => poolKey(driver, pool))),
];

const previousOf = <T>(change: Change<T>): T | undefined => (change.type === "put" ? change.previous : undefined);

const consumersOf = ({ metadata: { namespace }, status }: ResourceClaim): Wake[] =>
  (status.reservedFor ?? [])
    .filter(({ apiGroup = "", resource }) => apiGroup === "" && resource === "pods")
    .map(({ name }) => ({ namespace, name }));

/** The pods with devices of a slice's pool, if its change can have changed which taints count. */
function podsOfPool(informers: Informers, change: Change<ResourceSlice>): Wake[] {
  const { object } = change;
  const before = previousOf(change);
  const isTainted = taintedDevices(object).length > 0 || (before && taintedDevices(before).length > 0);
  const [pool = ""] = poolOfSlice(object);
  const hasSameGeneration = change.type === "put" && before?.spec.pool.generation === object.spec.pool.generation;
  // Another generation makes the taints of other slices count, or not count any more.
  const canTouchOthers = !hasSameGeneration && informers.of(ResourceSlice).by(byTaintedPool, pool).length > 0;
  if (!isTainted && !canTouchOthers) return [];
  return informers.of(ResourceClaim).by(byPool, pool).flatMap(consumersOf);
}

/** The devices with NoExecute taints of the claims that a pod may use. */
function* taintedDevicesOf(informers: Informers, pod: Pod): Iterable<TaintedDevice> {
  const { namespace, uid } = pod.metadata;
  for (const key of resourceClaimKeysOf(pod)) {
    const claim = informers.of(ResourceClaim).get({ namespace, name: key.slice(namespace.length + 1) });
    if (!claim?.status.reservedFor?.some((consumer) => consumer.uid === uid)) continue;
    for (const result of resultsOf(claim)) {
      const { tolerations } = result;
      for (const taints of taintsOf(informers, result)) yield { taints, tolerations };
    }
  }
}

/** Slices of an older generation than the newest of their pool do not count. */
function taintsOf(informers: Informers, { driver, pool, device }: DeviceRequestAllocationResult) {
  const slices = informers.of(ResourceSlice);
  const tainted = slices.by(byTaintedDevice, deviceKey(driver, pool, device));
  if (tainted.length === 0) return [];
  const generations = slices.by(byPool, poolKey(driver, pool)).map(({ spec }) => spec.pool.generation);
  const newest = generations.reduce((a, b) => Math.max(a, b), 0);
  return tainted
    .filter(({ spec }) => spec.pool.generation === newest)
    .map(({ spec }) => spec.devices?.find(({ name }) => name === device)?.taints ?? []);
}
