import { type DeviceSubRequest, type ExactDeviceRequest } from "#api/devices/claim-spec.ts";
import { type DeviceClass } from "#api/devices/device-class.ts";
import { type DeviceSelector } from "#api/devices/device-selector.ts";
import { type ResourceClaim } from "#api/devices/resource-claim.ts";
import { type Constraint, createConstraint } from "./constraints.ts";

/** A claim as the search sees it. */
export interface WantedClaim {
  /** Equal for claims that want the same. */
  readonly shape: string;
  readonly requests: readonly WantedRequest[];
  createConstraints(): Constraint[];
}

export interface WantedRequest {
  /** Ways to satisfy the request, the best first. */
  readonly alternatives: readonly Alternative[];
}

export interface Alternative {
  /** `REQUEST` or `REQUEST/ALTERNATIVE`. */
  readonly name: string;
  readonly deviceClass: DeviceClass;
  readonly selectors: readonly Selector[];
  /** The number of devices; undefined: all that match. */
  readonly count: number | undefined;
  readonly isForAdmin: boolean;
  readonly tolerations: ExactDeviceRequest["tolerations"];
  readonly capacity: Readonly<Record<string, string>> | undefined;
}

export interface Selector {
  readonly expression: string;
  /** Whose it is, for messages. */
  readonly origin: string;
}

type ClassOf = (name: string) => DeviceClass | undefined;

/** Returns what a claim wants, or upstream's reason why that cannot be told. */
export function wantedBy(claim: Pick<ResourceClaim, "metadata" | "spec">, classOf: ClassOf): WantedClaim | string {
  const { namespace, name } = claim.metadata;
  const { requests = [], constraints = [] } = claim.spec.devices;
  const wanted: WantedRequest[] = [];
  for (const request of requests) {
    const alternatives: Alternative[] = [];
    for (const [label, one] of waysOf(request)) {
      const deviceClass = classOf(one.deviceClassName);
      if (!deviceClass) return `request ${label}: device class ${one.deviceClassName} does not exist`;
      alternatives.push(alternativeOf(label, { ...one, deviceClass }));
    }
    if (alternatives.length === 0) {
      return `resource claim ${namespace}/${name}, request ${request.name}: unknown request type`;
    }
    wanted.push({ alternatives });
  }
  const classes = wanted.flatMap((one) => one.alternatives.map(({ deviceClass: { metadata } }) => metadata));
  const versions = classes.map(({ uid, resourceVersion }) => [uid, resourceVersion]);
  const shape = JSON.stringify([requests, constraints, versions]);
  return { shape, requests: wanted, createConstraints: () => constraints.map(createConstraint) };
}

type Request = NonNullable<ResourceClaim["spec"]["devices"]["requests"]>[number];
type Way = ExactDeviceRequest | DeviceSubRequest;

function waysOf({ name, exactly, firstAvailable = [] }: Request): (readonly [string, Way])[] {
  if (exactly) return [[name, exactly]];
  return firstAvailable.map((one) => [`${name}/${one.name}`, one]);
}

function alternativeOf(name: string, way: Way & { readonly deviceClass: DeviceClass }): Alternative {
  const { deviceClass, allocationMode, count, tolerations, capacity, selectors } = way;
  return {
    name,
    deviceClass,
    selectors: [
      ...selectorsOf(deviceClass.spec.selectors, `class ${deviceClass.metadata.name}`),
      ...selectorsOf(selectors, `request ${name}`),
    ],
    count: allocationMode === "All" ? undefined : (count ?? 1),
    isForAdmin: "adminAccess" in way && way.adminAccess === true,
    tolerations,
    capacity: capacity?.requests,
  };
}

const selectorsOf = (selectors: readonly DeviceSelector[] | undefined, owner: string): Selector[] =>
  (selectors ?? []).map(({ cel }, at) => ({ expression: cel?.expression ?? "", origin: `${owner}: selector #${at}` }));
