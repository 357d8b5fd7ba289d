import type { Environment } from "#cel/declare/environment.ts";
import type { SizeHints } from "#cel/declare/estimate.ts";
import { bindingLibrary } from "#cel/library/optionals.ts";
import { boolType, dynType, mapType, stringType, structType, type Type } from "#cel/types/type.ts";
import { kubernetesEnvironment } from "../environment.ts";
import { quantityType } from "../quantity.ts";

const attributes = mapType(stringType, mapType(stringType, dynType));
const capacity = mapType(stringType, mapType(stringType, quantityType));
const fields: Readonly<Record<string, Type>> = {
  driver: stringType,
  allowMultipleAllocations: boolType,
  attributes,
  capacity,
};
export const deviceType = structType("kubernetes.DRADevice", {
  field(name) {
    const type = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return type && { type };
  },
});

let environment: Environment | undefined;

/** What the selectors of devices may use: `device`, and `cel.bind` to name a part of it. */
export function deviceEnvironment(): Environment {
  environment ??= kubernetesEnvironment().extend({ libraries: [bindingLibrary], variables: { device: deviceType } });
  return environment;
}

/** How large a part of a device may be, by the limits of ResourceSlices. */
interface Part {
  readonly max: number;
  readonly keys?: Part;
  readonly values?: Part;
  readonly fields?: Readonly<Record<string, Part>>;
}

const names = { domain: { max: 63 }, id: { max: 32 } };
const maxEntries = 32;
const byName = (value: Part): Part => ({
  max: maxEntries,
  keys: names.domain,
  values: { max: maxEntries, keys: names.id, values: value },
});
const attribute: Part = { max: 64 };
const device: Part = {
  max: 0,
  fields: {
    driver: { max: 63 },
    allowMultipleAllocations: { max: 1 },
    attributes: byName(attribute),
    capacity: byName({ max: 0 }),
  },
};

export const deviceSizes: SizeHints = {
  sizeOf(path) {
    if (path?.[0] !== "device") return undefined;
    let at: Part | undefined = device;
    for (const name of path.slice(1)) {
      at = partOf(at, name);
      if (!at) return undefined;
    }
    return { min: 0, max: at.max };
  },
};

function partOf(part: Part, name: string): Part | undefined {
  if (name === "@items" || name === "@values") return part.values;
  if (name === "@keys") return part.keys;
  if (part.fields) return Object.hasOwn(part.fields, name) ? part.fields[name] : undefined;
  // Whatever its name is, an attribute is not larger than any other.
  return part.values === attribute ? attribute : undefined;
}
