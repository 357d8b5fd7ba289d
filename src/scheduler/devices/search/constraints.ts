import { type DeviceConstraint } from "#api/devices/claim-spec.ts";
import { own } from "#lib/data/own.ts";
import { type PoolDevice } from "./pool.ts";

/** A condition on the devices of a claim together. Devices are added and removed in the order of a stack. */
export interface Constraint {
  /** Whether the condition is about a request, named as `REQUEST` or `REQUEST/ALTERNATIVE`. */
  concerns(request: string): boolean;
  /** Returns false, and changes nothing, if the device does not satisfy it together with the others. */
  add(device: PoolDevice): boolean;
  remove(device: PoolDevice): void;
}

export function createConstraint({ requests = [], matchAttribute, distinctAttribute }: DeviceConstraint): Constraint {
  const named = new Set(requests);
  const concerns = (request: string): boolean =>
    named.size === 0 || named.has(request) || named.has(request.slice(0, Math.max(request.indexOf("/"), 0)));
  return {
    concerns,
    ...(matchAttribute !== undefined ? sameValue(matchAttribute) : distinct(distinctAttribute ?? "")),
  };
}

type Condition = Pick<Constraint, "add" | "remove">;

function sameValue(attribute: string): Condition {
  let value: string | undefined;
  let count = 0;
  return {
    add(device) {
      const own = attributeValueOf(device, attribute);
      if (own === undefined || (count > 0 && own !== value)) return false;
      value = own;
      count++;
      return true;
    },
    remove: () => void count--,
  };
}

function distinct(attribute: string): Condition {
  const values = new Set<string>();
  return {
    add(device) {
      const own = attributeValueOf(device, attribute);
      if (own === undefined || values.has(own)) return false;
      values.add(own);
      return true;
    },
    remove: (device) => void values.delete(attributeValueOf(device, attribute) ?? ""),
  };
}

/** The value of an attribute with its type. The driver's own attributes need no domain in the device. */
function attributeValueOf({ device, driver }: PoolDevice, attribute: string): string | undefined {
  const { attributes } = device;
  const prefix = `${driver}/`;
  const found =
    own(attributes, attribute) ??
    (attribute.startsWith(prefix) ? own(attributes, attribute.slice(prefix.length)) : undefined);
  return found && textOf(found);
}

/** Different for different values. It is asked for at every step of the search. */
function textOf({ string, version, int, bool }: Attribute): string {
  if (string !== undefined) return `string ${string}`;
  return version === undefined ? `other ${int} ${bool}` : `version ${version}`;
}
type Attribute = NonNullable<PoolDevice["device"]["attributes"]>[string];
