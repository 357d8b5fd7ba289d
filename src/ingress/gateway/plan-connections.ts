import { backendKey, bytesKey, type WeightedBackend } from "../routing/route.ts";
import { type TlsRoute } from "../routing/tls-table.ts";
import { type BackendLookup, type RefFault, type RouteSubject } from "./plan-rules.ts";

/** What a TLSRoute does with connections, whatever it is attached to. */
export interface ConnectionsPlan {
  readonly owner: string;
  readonly rank: string;
  readonly backends: readonly WeightedBackend[];
  readonly refFault: RefFault | undefined;
}

/** Pure: decides where the connections of a TLSRoute go. It has one rule. */
export function planConnections({ kind, route }: RouteSubject, lookup: BackendLookup): ConnectionsPlan {
  const { namespace, name, creationTimestamp = "9999" } = route.metadata;
  let refFault: RefFault | undefined;
  const backends = (route.spec.rules?.[0]?.backendRefs ?? []).map((ref): WeightedBackend => {
    const weight = ref.weight ?? 1;
    const fault = lookup.faultOf(ref, { kind, namespace });
    refFault ??= fault;
    if (fault) return { key: undefined, weight, fault: fault.message };
    return { key: backendKey(ref.namespace ?? namespace, ref.name, ref.port ?? 0), weight };
  });
  return {
    owner: `${kind} ${namespace}/${name}`,
    rank: `${creationTimestamp} ${namespace}/${name}`,
    backends,
    refFault,
  };
}

/** The route for a host of a listener. */
export function connectionRoute(
  { owner, rank, backends }: ConnectionsPlan,
  { host, isTerminated }: Pick<TlsRoute, "host" | "isTerminated">,
): TlsRoute {
  const asBytes = (one: WeightedBackend): WeightedBackend => ({ ...one, key: one.key && bytesKey(one.key) });
  return { owner, rank, host, isTerminated, backends: isTerminated ? backends : backends.map(asBytes) };
}
