import { parseQuantity } from "#api/meta/quantity.ts";
import { type SearchInput } from "./find-devices.ts";
import { type PoolDevice } from "./pool.ts";
import { type Alternative, type WantedClaim } from "./wanted.ts";

interface Given {
  readonly claim: number;
  readonly way: Alternative;
  readonly one: PoolDevice;
}

/** Whether there is any way to satisfy the claims: tries all of them, and checks each as a whole. For small inputs. */
export function isPossible(input: SearchInput): boolean {
  const devices = input.pools.flatMap((pool) => pool.devices);
  const requests = input.claims.flatMap((wanted, claim) => wanted.requests.map((request) => ({ claim, request })));
  const search = (at: number, given: readonly Given[]): boolean => {
    const next = requests[at];
    if (!next)
      return input.claims.every((claim, index) => isValid(claim, given.filter(of(index)))) && areFree(input, given);
    return next.request.alternatives.some((way) =>
      choicesOf(input, way, devices).some((choice) =>
        search(at + 1, [...given, ...choice.map((one) => ({ claim: next.claim, way, one }))]),
      ),
    );
  };
  return search(0, []);
}

const of =
  (index: number) =>
  ({ claim }: Given): boolean =>
    claim === index;

/** Every set of devices that has the right number and properties. */
function choicesOf({ matches }: SearchInput, way: Alternative, devices: readonly PoolDevice[]): PoolDevice[][] {
  const suitable = devices.filter((one) => matches(one, way) && hasCapacity(one, way));
  if (way.count === undefined)
    return suitable.length > 0 && suitable.every((one) => isTolerated(one, way)) ? [suitable] : [];
  return subsetsOf(
    suitable.filter((one) => isTolerated(one, way)),
    way.count,
  );
}

function subsetsOf<T>(items: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) => subsetsOf(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]));
}

const isTolerated = ({ device }: PoolDevice, { tolerations }: Alternative): boolean =>
  !device.taints?.length || (tolerations?.length ?? 0) > 0;

const amount = (text: string | undefined): number => Number(parseQuantity(text ?? "0").nanos / 1_000_000_000n);

function hasCapacity({ device }: PoolDevice, { capacity }: Alternative): boolean {
  if (capacity?.memory === undefined) return true;
  return device.capacity?.memory !== undefined && amount(capacity.memory) <= amount(device.capacity.memory.value);
}

function isValid(claim: WantedClaim, given: readonly Given[]): boolean {
  if (given.length > 32) return false;
  // The constraints are asked in order, as in a claim that gets its devices one by one.
  return claim
    .createConstraints()
    .every((constraint) => given.every(({ way, one }) => !constraint.concerns(way.name) || constraint.add(one)));
}

/** Whether no device is given twice, and shares and counters suffice. */
function areFree({ used, pools }: SearchInput, given: readonly Given[]): boolean {
  const byDevice = Map.groupBy(given, ({ one }) => one.key);
  for (const [key, givens] of byDevice) {
    const device = givens[0]?.one.device;
    if (device?.allowMultipleAllocations) {
      const has = device.capacity?.memory?.value;
      const taken = givens.reduce((sum, { way }) => sum + amount(way.capacity?.memory ?? has), 0);
      if (has !== undefined && Number(used.takenOf(key, "memory") / 1_000_000_000n) + taken > amount(has)) return false;
      continue;
    }
    // An administrator gets what others have, but each device once for a claim. Others want it for themselves.
    const isAllowed = ({ claim, way }: Given, at: number): boolean =>
      way.isForAdmin ? !givens.slice(0, at).some(of(claim)) : at === 0 && !used.isTaken(key);
    if (!givens.every(isAllowed)) return false;
  }
  // Others may have overdrawn a counter: then only devices are possible that do not name it.
  const takes = ({ device }: PoolDevice): number => amount(device.consumesCounters?.[0]?.counters.n?.value);
  return pools.every(({ devices, counters }) => {
    const inUse = devices.filter(({ key }) => byDevice.has(key) || used.isTaken(key) || used.isShared(key));
    const has = Number((counters.get("set")?.get("n") ?? 0n) / 1_000_000_000n);
    const isEnough = inUse.reduce((sum, one) => sum + takes(one), 0) <= has;
    return (
      isEnough ||
      devices.every((one) => !byDevice.has(one.key) || used.isShared(one.key) || !one.device.consumesCounters)
    );
  });
}
