import { atOnce } from "#lib/async/turns.ts";
import { type Finding } from "./conditions.ts";
import { type GatewayFacts } from "./facts.ts";
import { type BackendRef, type Gateway, type GatewayRoute, type Listener } from "./kinds.ts";
import { type GatewaysPlan, planGateways } from "./plan-gateways.ts";

export const meta = (key: string, age = 1) => {
  const [namespace = "", name = ""] = key.split("/");
  return {
    namespace,
    name,
    uid: key,
    generation: 1,
    creationTimestamp: `2026-01-01T00:00:${String(age).padStart(2, "0")}Z`,
  };
};
export const http = (change: Partial<Listener> = {}): Listener => ({
  name: "http",
  port: 80,
  protocol: "HTTP",
  ...change,
});
export const https = (secret: string, change: Partial<Listener> = {}): Listener => {
  const [name = "", namespace] = secret.split("/").reverse();
  const certificateRefs = [{ group: "", kind: "Secret", name, ...(namespace ? { namespace } : {}) }];
  return { name: "https", port: 443, protocol: "HTTPS", tls: { mode: "Terminate", certificateRefs }, ...change };
};
export const gateway = (key: string, listeners: readonly Listener[], age = 1): Gateway => ({
  metadata: meta(key, age),
  spec: { gatewayClassName: "orlop", listeners },
});
export const backend = (name: string, change: Partial<BackendRef> = {}): BackendRef => ({
  ...{ group: "", kind: "Service", name, port: 80, weight: 1 },
  ...change,
});
export const route = (key: string, spec: Partial<GatewayRoute["spec"]> = {}, age = 1): GatewayRoute => ({
  metadata: meta(key, age),
  spec: { parentRefs: [{ name: "gw" }], rules: [{ backendRefs: [backend("web")] }], ...spec },
});
export const from = (kind: "All" | "Same"): Partial<Listener> => ({ allowedRoutes: { namespaces: { from: kind } } });

export function factsOf(gateways: readonly Gateway[], routes: readonly GatewayRoute[]): GatewayFacts {
  return {
    gateways,
    routes: routes.map((one) => ({ kind: "HTTPRoute", route: one })),
    ports: { http: 80, https: 443 },
    grantsIn: () => [],
    matchesNamespace: (namespace, { matchLabels = {} }) => matchLabels.name === namespace,
    hostOwner: () => undefined,
    secretFault: (key) => (key.endsWith("/good") ? undefined : `secret ${key} does not exist`),
    faultOf: ({ name }) => (name === "gone" ? { reason: "BackendNotFound", message: "no such service" } : undefined),
  };
}

export const plan = (
  gateways: readonly Gateway[],
  routes: readonly GatewayRoute[],
  change: Partial<GatewayFacts> = {},
): GatewaysPlan => atOnce(planGateways({ ...factsOf(gateways, routes), ...change }));

export const says = (findings: readonly Finding[] = []): string[] =>
  findings.map(({ type, isTrue, reason }) => `${type}=${isTrue} ${reason}`);
export const routeSays = (planned: GatewaysPlan, one: GatewayRoute): string[] =>
  says(planned.routes.get(one)?.[0]?.conditions);
export const listenerSays = (planned: GatewaysPlan, one: Gateway, at = 0): string[] =>
  says(planned.gateways.get(one)?.listeners[at]?.conditions);
