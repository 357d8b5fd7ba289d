import { DeviceClass } from "#api/devices/device-class.ts";
import { type DeviceSelector } from "#api/devices/device-selector.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type FieldPath, root } from "#schema/field-error.ts";

type Selectors = readonly DeviceSelector[] | undefined;
type ClaimSpec = ResourceClaim["spec"];
export type PlacedSelectors = readonly [at: FieldPath, selectors: Selectors];

const spec = root.child("spec");
const kinds = new Map<Resource, (object: ApiObject | undefined) => Iterable<PlacedSelectors>>([
  [
    asResource(DeviceClass),
    (object) => [[spec.child("selectors"), (object as DeviceClass | undefined)?.spec.selectors]],
  ],
  [asResource(ResourceClaim), (object) => ofClaim((object as ResourceClaim | undefined)?.spec, spec)],
  [
    asResource(ResourceClaimTemplate),
    (object) => ofClaim((object as ResourceClaimTemplate | undefined)?.spec.spec, spec.child("spec")),
  ],
]);

function asResource(resource: unknown): Resource {
  return resource as Resource;
}

function* ofClaim(claim: ClaimSpec | undefined, at: FieldPath): Iterable<PlacedSelectors> {
  for (const [index, { exactly, firstAvailable = [] }] of (claim?.devices?.requests ?? []).entries()) {
    const path = at.child("devices", "requests").index(index);
    yield [path.child("exactly", "selectors"), exactly?.selectors];
    for (const [nth, { selectors }] of firstAvailable.entries()) {
      yield [path.child("firstAvailable").index(nth).child("selectors"), selectors];
    }
  }
}

/** Compiles the selectors of devices before they are written. The compiler is loaded when it is needed. */
export function checkSelectors(
  { resource, subresource }: { readonly resource: Resource; readonly subresource: string },
  object: ApiObject,
  old: ApiObject | undefined,
): Promise<undefined> | undefined {
  const placesOf = kinds.get(resource);
  if (!placesOf || subresource !== "") return undefined;
  const places = [...placesOf(object)].filter(([, selectors]) => selectors?.length);
  // What is stored already may stay, even if it no longer compiles.
  const before = new Map(Array.from(old ? placesOf(old) : [], ([at, selectors]) => [String(at), selectors]));
  const changed = places.filter(([at, selectors]) => !equal(before.get(String(at)), selectors));
  return changed.length > 0 ? check(resource, object, changed) : undefined;
}

async function check(resource: Resource, object: ApiObject, places: readonly PlacedSelectors[]): Promise<undefined> {
  const { selectorFaults } = await import("./selector-faults.ts");
  const faults = await selectorFaults(places);
  if (faults.length > 0) throw invalid(resource, object.metadata.name ?? "", faults);
  return undefined;
}
