import { type NodeSelectorTerm } from "#api/core/pod/affinity.ts";
import {
  type AllocationResult,
  type DeviceAllocationConfiguration,
  type DeviceRequestAllocationResult,
} from "#api/devices/claim-status.ts";
import { type ResourceClaim } from "#api/devices/resource-claim.ts";
import { equal } from "#lib/data/equal.ts";
import { type PickedDevice } from "./find-devices.ts";
import { renderShare } from "./share.ts";

export interface Allocating {
  readonly claim: Pick<ResourceClaim, "spec">;
  readonly picks: readonly PickedDevice[];
  readonly node: string;
  newUid(): string;
}

/** What is written into the claim. */
export function renderAllocation({ claim, picks, node, newUid }: Allocating): AllocationResult {
  const config = configOf(claim, picks);
  const nodeSelector = nodeSelectorOf(picks, node);
  return {
    devices: {
      ...(picks.length > 0 ? { results: picks.map((pick) => resultOf(pick, newUid)) } : {}),
      ...(config.length > 0 ? { config } : {}),
    },
    ...(nodeSelector ? { nodeSelector } : {}),
  };
}

function resultOf(
  { alternative, device: one, share }: PickedDevice,
  newUid: () => string,
): DeviceRequestAllocationResult {
  const { driver, pool, device } = one;
  const { name, isForAdmin, tolerations } = alternative;
  return {
    request: name,
    driver,
    pool: pool.name,
    device: device.name,
    ...(isForAdmin ? { adminAccess: true } : {}),
    ...(tolerations?.length ? { tolerations } : {}),
    ...(device.bindingConditions?.length ? { bindingConditions: device.bindingConditions } : {}),
    ...(device.bindingFailureConditions?.length ? { bindingFailureConditions: device.bindingFailureConditions } : {}),
    ...(share ? { shareID: newUid() } : {}),
    ...(share && share.size > 0 ? { consumedCapacity: renderShare(share) } : {}),
  };
}

/** The settings of the classes that were used, then those of the claim. An empty list of requests means all of them. */
function configOf({ spec }: Allocating["claim"], picks: readonly PickedDevice[]): DeviceAllocationConfiguration[] {
  const { requests = [], config = [] } = spec.devices;
  const chosen = [...new Set(picks.map(({ alternative }) => alternative))];
  const byClass = Map.groupBy(chosen, ({ deviceClass }) => deviceClass);
  const isForAll = (names: readonly string[]): boolean =>
    requests.every(({ name }) => {
      const used = chosen.find((one) => one.name === name || one.name.startsWith(`${name}/`));
      return names.includes(name) || (used !== undefined && names.includes(used.name));
    });
  const limited = (names: readonly string[]) => (isForAll(names) ? {} : { requests: [...names] });
  const ofClasses = [...byClass].flatMap(([deviceClass, alternatives]) =>
    (deviceClass.spec.config ?? []).map((one) => ({
      source: "FromClass" as const,
      ...limited(alternatives.map(({ name }) => name)),
      ...one,
    })),
  );
  const ofClaim = config
    .filter(({ requests: names = [] }) => names.length === 0 || chosen.some(({ name }) => isNamed(names, name)))
    .map(({ requests: names = [], ...one }) => ({
      source: "FromClaim" as const,
      ...(names.length > 0 ? limited(names) : {}),
      ...one,
    }));
  return [...ofClasses, ...ofClaim];
}

const isNamed = (names: readonly string[], request: string): boolean =>
  names.includes(request) || names.includes(request.split("/", 1)[0] ?? "");

/** Where the devices can be used: only on the node if one of them is local, otherwise wherever all of them are. */
function nodeSelectorOf(picks: readonly PickedDevice[], node: string): AllocationResult["nodeSelector"] {
  const term: { matchFields: unknown[]; matchExpressions: unknown[] } = { matchFields: [], matchExpressions: [] };
  for (const { device } of picks) {
    const choice = device.slice.spec.perDeviceNodeSelection ? device.device : device.slice.spec;
    if (choice.nodeName || device.device.bindsToNode) return onlyOn(node);
    const [own] = choice.nodeSelector?.nodeSelectorTerms ?? [];
    addNew(term.matchFields, own?.matchFields);
    addNew(term.matchExpressions, own?.matchExpressions);
  }
  const { matchFields, matchExpressions } = term;
  if (matchFields.length === 0 && matchExpressions.length === 0) return undefined;
  const written = {
    ...(matchFields.length > 0 ? { matchFields } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  };
  return { nodeSelectorTerms: [written as NodeSelectorTerm] };
}

const onlyOn = (node: string) => ({
  nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In" as const, values: [node] }] }],
});

function addNew(known: unknown[], more: readonly unknown[] | undefined): void {
  for (const one of more ?? []) if (!known.some((other) => equal(other, one))) known.push(one);
}
