import { type LabelSelector } from "#api/meta/label-selector.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { type ApiObject, defineResource, type Resource } from "#api/resource.ts";
import type { CorsFilter } from "../routing/cors.ts";
import { gatewayGroup } from "./definitions.ts";

/*
 * The objects as the server returns them: checked against our definitions, and with their defaults. Only what this
 * component reads is declared.
 */

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

interface Meta extends ObjectMeta {
  name: string;
  namespace: string;
}

export interface GatewayClass extends ApiObject {
  metadata: Meta;
  spec: { readonly controllerName: string };
  status?: {
    readonly conditions?: readonly Condition[];
    readonly supportedFeatures?: readonly { readonly name: string }[];
  };
}

export interface ObjectRef {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Listener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: { readonly mode?: string; readonly certificateRefs?: readonly ObjectRef[] };
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: "All" | "Selector" | "Same"; readonly selector?: LabelSelector };
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface Gateway extends ApiObject {
  metadata: Meta;
  spec: {
    readonly gatewayClassName: string;
    readonly listeners: readonly Listener[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
  };
  status?: GatewayStatus;
}
export interface GatewayStatus {
  readonly addresses?: readonly { readonly type: string; readonly value: string }[];
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly {
    readonly name: string;
    readonly attachedRoutes: number;
    readonly supportedKinds?: readonly { readonly group: string; readonly kind: string }[];
    readonly conditions: readonly Condition[];
  }[];
}

export interface ParentRef extends ObjectRef {
  readonly sectionName?: string;
  readonly port?: number;
}

interface NameValue {
  readonly name: string;
  readonly value: string;
  readonly type?: string;
}
export interface HeaderFilter {
  readonly set?: readonly NameValue[];
  readonly add?: readonly NameValue[];
  readonly remove?: readonly string[];
}
export interface PathModifier {
  readonly type: "ReplaceFullPath" | "ReplacePrefixMatch";
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}
export interface BackendRef extends ObjectRef {
  readonly port?: number;
  readonly weight?: number;
  readonly filters?: readonly Filter[];
}
export interface Filter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter;
  readonly responseHeaderModifier?: HeaderFilter;
  readonly requestMirror?: {
    readonly backendRef: BackendRef;
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly path?: PathModifier;
    readonly port?: number;
    readonly statusCode?: number;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
  readonly cors?: CorsFilter;
}
export interface RouteMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly headers?: readonly NameValue[];
  readonly queryParams?: readonly NameValue[];
  /** Of HTTP a text, of gRPC a service and a method. */
  readonly method?: string | { readonly type?: string; readonly service?: string; readonly method?: string };
}
export interface RouteRule {
  readonly matches?: readonly RouteMatch[];
  readonly filters?: readonly Filter[];
  readonly backendRefs?: readonly BackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
}
export interface ParentStatus {
  readonly parentRef: ParentRef;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}
/** An HTTPRoute, a GRPCRoute or a TLSRoute. */
export interface GatewayRoute extends ApiObject {
  metadata: Meta;
  spec: {
    readonly parentRefs?: readonly ParentRef[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly RouteRule[];
  };
  status?: { readonly parents: readonly ParentStatus[] };
}

export interface ReferenceGrant extends ApiObject {
  metadata: Meta;
  spec: {
    readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
    readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[];
  };
}

/** Enough of a Resource for a client. The server knows the rest from the definitions. */
function kind<T extends ApiObject>(
  name: string,
  plural: string,
  scope: "Namespaced" | "Cluster" = "Namespaced",
): Resource<T> {
  const resource = defineResource(
    `${gatewayGroup}/v1.${name}`,
    {},
    { doc: name, plural, scope, withStatus: "as sent" },
  );
  return resource as unknown as Resource<T>;
}

export const GatewayClass = kind<GatewayClass>("GatewayClass", "gatewayclasses", "Cluster");
export const Gateway = kind<Gateway>("Gateway", "gateways");
export const HTTPRoute = kind<GatewayRoute>("HTTPRoute", "httproutes");
export const GRPCRoute = kind<GatewayRoute>("GRPCRoute", "grpcroutes");
export const TLSRoute = kind<GatewayRoute>("TLSRoute", "tlsroutes");
export const ReferenceGrant = kind<ReferenceGrant>("ReferenceGrant", "referencegrants");
