import { DataList, DataMap } from "#cel/values/collections.ts";
import { Double, type Value } from "#cel/values/value.ts";
import { unescapeName } from "#cel-kubernetes/escape.ts";

/** What an expression sees of the claims of a token. As upstream, all numbers are doubles. */
export function claimValue(data: unknown): Value {
  if (typeof data === "number") return new Double(data);
  if (typeof data === "string" || typeof data === "boolean") return data;
  if (Array.isArray(data)) return new DataList(data, claimValue);
  return typeof data === "object" && data !== null ? new ClaimMap(data as Record<string, unknown>) : null;
}

/** A claim whose name an expression cannot spell has an escaped name, too: `claims.my__dot__claim`. */
class ClaimMap extends DataMap {
  constructor(data: Readonly<Record<string, unknown>>) {
    super(data, claimValue);
  }
  override get(key: Value): Value | undefined {
    const found = super.get(key);
    if (found !== undefined || typeof key !== "string") return found;
    const name = unescapeName(key);
    return name === key ? undefined : super.get(name);
  }
}
