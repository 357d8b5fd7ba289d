import { type LabelSelector } from "#api/meta/label-selector.ts";
import { type Gateway, type ReferenceGrant } from "./kinds.ts";
import { type BackendLookup, type RouteSubject } from "./plan-rules.ts";

/** Everything that decides what Gateways serve. */
export interface GatewayFacts extends BackendLookup {
  /** Those of our classes. */
  readonly gateways: readonly Gateway[];
  readonly routes: readonly RouteSubject[];
  readonly ports: { readonly http: number; readonly https: number };
  grantsIn(namespace: string): readonly ReferenceGrant[];
  matchesNamespace(namespace: string, selector: LabelSelector): boolean;
  /** Which namespace has a host, by an Ingress or by what `claimsOf` says. */
  hostOwner(host: string): string | undefined;
  /** What is wrong with a secret; undefined if it has a certificate that can be served. */
  secretFault(key: string): string | undefined;
}
