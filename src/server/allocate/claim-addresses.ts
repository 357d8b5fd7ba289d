import { type Service } from "#api/core/service.ts";
import { canonicalAddress, type IpFamily } from "#api/meta/ip-address.ts";
import { type IpRange } from "#api/networking/ip-range.ts";
import { internalError } from "#api/status.ts";
import { Slice } from "#lib/async/turns.ts";
import { type Random } from "#lib/data/random.ts";
import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import { type Claims, type Pool } from "./claims.ts";
import { candidates, lowPart } from "./find-free.ts";
import { ipKey } from "./held.ts";

/** Claims an address of each family of the service: the one that the client asked for, or a free one. */
export async function* claimAddresses(
  pool: Pool,
  { metadata, spec }: Service,
  claims: Claims,
): AsyncGenerator<FieldError> {
  if (spec.type === "ExternalName" || spec.clusterIP === "None") return;
  const { clusterIP, clusterIPs } = spec;
  const asked = clusterIPs ?? (clusterIP ? [clusterIP] : []);
  const given: string[] = [];
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const address = asked[index];
    if (address) {
      const fault = addressFault(pool.ranges.of(family), canonicalAddress(address) ?? address, claims);
      const path = root.child("spec", "clusterIPs");
      if (fault) yield invalidValue(path, asked, `failed to allocate IP ${address}: ${fault}`);
      given.push(address);
    } else given.push(await freeAddress(pool, { family, service: metadata.name }, claims));
  }
  claims.onUndo(() => Object.assign(spec, { clusterIP, clusterIPs }));
  spec.clusterIPs = given;
  const [first] = given;
  if (first !== undefined) spec.clusterIP = first;
}

/** Why a client cannot have an address, in upstream's words. */
function addressFault(ranges: readonly IpRange[], address: string, claims: Claims): string | undefined {
  if (claims.has(ipKey(address))) return undefined;
  if (!ranges.some((range) => range.isUsable(address))) return "the provided network does not match the current range";
  return claims.take(ipKey(address)) ? undefined : "provided IP is already allocated";
}

async function freeAddress(
  { ranges, random }: Pool,
  { family, service }: { readonly family: IpFamily; readonly service: string },
  claims: Claims,
): Promise<string> {
  for (const range of ranges.of(family)) {
    const address = await freeIn(range, random, claims);
    if (address) return address;
  }
  const name = JSON.stringify(service);
  throw internalError(new Error(`failed to allocate a serviceIP for Service ${name}: range is full`));
}

/** In steps, because a range that is nearly full is searched almost whole: 65,534 addresses of a /16. */
async function freeIn(range: IpRange, random: Random, claims: Claims): Promise<string | undefined> {
  const { first: min, last: max } = range;
  const span = { min, max, low: lowPart(max - min + 1, { step: 16, max: 256 }) };
  const slice = new Slice();
  for (const offset of candidates(span, random)) {
    const address = range.at(offset);
    if (claims.takeNew(ipKey(address))) return address;
    if (slice.isOver) await slice.rest();
  }
  return undefined;
}
