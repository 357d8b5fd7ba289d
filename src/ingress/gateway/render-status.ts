import { equal } from "#lib/data/equal.ts";
import { good, renderConditions } from "./conditions.ts";
import { gatewayGroup } from "./definitions.ts";
import { gatewayController } from "./install.ts";
import { type Gateway, type GatewayClass, type GatewayRoute, type GatewayStatus, type ParentStatus } from "./kinds.ts";
import { type GatewayFindings, type ParentFindings } from "./plan-gateways.ts";

const maxAddresses = 16;

/** By upstream's names. */
const features = [
  "Gateway",
  "GRPCRoute",
  "HTTPRoute",
  "HTTPRouteBackendRequestHeaderModification",
  "HTTPRouteBackendTimeout",
  "HTTPRouteCORS",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteSchemeRedirect",
  "ReferenceGrant",
  "TLSRoute",
  "TLSRouteModeMixed",
  "TLSRouteModeTerminate",
].map((name) => ({ name }));

export function renderClassStatus(
  { metadata, status }: GatewayClass,
  now: string,
): NonNullable<GatewayClass["status"]> {
  const { generation = 1 } = metadata;
  const conditions = renderConditions([good("Accepted")], { known: status?.conditions, generation, now });
  return { conditions, supportedFeatures: features };
}

interface Context {
  readonly addresses: readonly string[];
  readonly known: GatewayStatus | undefined;
  readonly now: string;
}

export function renderGatewayStatus(
  { metadata }: Gateway,
  { conditions, listeners }: GatewayFindings,
  { addresses, known, now }: Context,
): GatewayStatus {
  const { generation = 1 } = metadata;
  return {
    ...known,
    addresses: addresses.slice(0, maxAddresses).map((value) => ({ type: "IPAddress", value })),
    conditions: renderConditions(conditions, { known: known?.conditions, generation, now }),
    listeners: listeners.map(({ name, attachedRoutes, kinds, conditions: found }) => {
      const before = known?.listeners?.find((one) => one.name === name);
      return {
        ...{ name, attachedRoutes },
        supportedKinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
        conditions: renderConditions(found, { known: before?.conditions, generation, now }),
      };
    }),
  };
}

/** What other controllers wrote stays. */
export function renderRouteStatus(
  route: GatewayRoute,
  findings: readonly ParentFindings[],
  now: string,
): ParentStatus[] {
  const { generation = 1 } = route.metadata;
  const known = route.status?.parents ?? [];
  const own = findings.map(({ parentRef, conditions }): ParentStatus => {
    const before = known.find((one) => one.controllerName === gatewayController && equal(one.parentRef, parentRef));
    return {
      ...{ parentRef, controllerName: gatewayController },
      conditions: renderConditions(conditions, { known: before?.conditions, generation, now }),
    };
  });
  return [...known.filter(({ controllerName }) => controllerName !== gatewayController), ...own];
}
