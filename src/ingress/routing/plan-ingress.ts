import { type HTTPIngressPath, type Ingress, type IngressBackend } from "#api/networking/ingress.ts";
import { backendKey, type ForwardAction, type PathMatch, type Route, type WeightedBackend } from "./route.ts";

/** What one Ingress asks for, before anybody else's wishes are considered. */
export interface IngressPlan {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly rank: string;
  readonly routes: readonly Route[];
  /** Where requests go that match no rule of any Ingress. */
  readonly fallback: Route | undefined;
  readonly certificates: readonly CertificateWish[];
  /** What is ignored and why, for the users who wrote it. */
  readonly faults: readonly string[];
}

export interface CertificateWish {
  /** `*` at the beginning stands for one label; "" is for clients that name no host with a certificate. */
  readonly host: string;
  /** namespace/name. */
  readonly secret: string;
  readonly rank: string;
}

/** Nobody writes more by hand, and every rule costs memory and time. */
export const maxPaths = 1_000;
const maxTlsHosts = 500;
const maxPathLength = 2_048;

/** At the beginning of a rank: after all others. */
export const lastRank = "~";

const plans = new WeakMap<Ingress, IngressPlan>();

/** Pure, and remembered for as long as the informer has the object, because most do not change. */
export function planIngress(ingress: Ingress): IngressPlan {
  const known = plans.get(ingress);
  if (known) return known;
  const plan = makePlan(ingress);
  plans.set(ingress, plan);
  return plan;
}

function makePlan(ingress: Ingress): IngressPlan {
  const { namespace, name, uid = "", creationTimestamp = "9999" } = ingress.metadata;
  const { rules = [], defaultBackend } = ingress.spec;
  const rank = `${creationTimestamp} ${namespace}/${name}`;
  const head = { namespace, name, uid, rank };
  const count = rules.reduce((sum, { http }) => sum + (http?.paths.length ?? 1), 0);
  if (count > maxPaths) {
    const faults = [`it has no effect: its rules have ${count} paths, and at most ${maxPaths} are possible`];
    return { ...head, routes: [], fallback: undefined, certificates: [], faults };
  }
  const owner = `Ingress ${namespace}/${name}`;
  const base = { owner, headers: [], query: [] };
  const faults: string[] = [];
  const actionOf = (backend: IngressBackend, at: string): ForwardAction => {
    const planned = planBackend(namespace, backend);
    if (planned.fault) faults.push(`${at}: ${planned.fault}`);
    return { ...plainForward, backends: [planned] };
  };
  const routes: Route[] = [];
  rules.forEach(({ host = "", http }, rule) => {
    for (const [index, path] of (http?.paths ?? []).entries()) {
      const at = `spec.rules[${rule}].http.paths[${index}]`;
      const match = planPath(path);
      if (!match) {
        faults.push(`${at}.path: it is too long`);
        continue;
      }
      const order = `${rank} ${String(rule).padStart(4, "0")} ${String(index).padStart(4, "0")}`;
      routes.push({ ...base, host, path: match, rank: order, action: actionOf(path.backend, at) });
    }
  });
  const fallback = defaultBackend && {
    ...{ ...base, host: "", path: everyPath, rank },
    action: actionOf(defaultBackend, "spec.defaultBackend"),
  };
  // A host of this Ingress whose paths do not match leads to its own default backend.
  const hosts = fallback ? new Set(rules.map(({ host = "" }) => host).filter(Boolean)) : [];
  for (const host of hosts) if (fallback) routes.push({ ...fallback, host, rank: `${lastRank}${rank}` });
  return { ...head, routes, fallback, certificates: planCertificates(ingress, rank, faults), faults };
}

const everyPath: PathMatch = { type: "prefix", value: "/" };

const plainForward = {
  type: "forward",
  mirrors: [],
  requestTimeoutMs: undefined,
  backendTimeoutMs: undefined,
  isGrpc: false,
} as const;

function planBackend(namespace: string, { service, resource }: IngressBackend): WeightedBackend {
  if (!service) {
    const kind = resource?.kind ?? "resource";
    return { key: undefined, weight: 1, fault: `a backend that is a ${kind} is not supported: use a service` };
  }
  const { name = "", number = 0 } = service.port;
  return { key: backendKey(namespace, service.name, name || number), weight: 1 };
}

/** Like Prefix, which is what upstream's own examples mean by ImplementationSpecific. */
function planPath({ path = "", pathType }: HTTPIngressPath): PathMatch | undefined {
  if (path.length > maxPathLength) return undefined;
  if (pathType === "Exact") return { type: "exact", value: path || "/" };
  return { type: "prefix", value: prefixOf(path) };
}

/** A slash at the end makes no difference to a prefix. */
export function prefixOf(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === "/") end--;
  return path.slice(0, end) || "/";
}

function planCertificates({ metadata, spec }: Ingress, rank: string, faults: string[]): CertificateWish[] {
  const { tls = [], rules = [] } = spec;
  const wishes: CertificateWish[] = [];
  for (const [index, { hosts = [], secretName }] of tls.entries()) {
    if (!secretName) {
      faults.push(`spec.tls[${index}]: it names no secret, so it has no certificate`);
      continue;
    }
    const own = hosts.length > 0 ? hosts : rules.flatMap(({ host }) => host || []);
    for (const host of own.length > 0 ? own : [""]) {
      wishes.push({ host, secret: `${metadata.namespace}/${secretName}`, rank });
    }
  }
  if (wishes.length <= maxTlsHosts) return wishes;
  faults.push(`spec.tls: it has no certificates: at most ${maxTlsHosts} hosts can have one`);
  return [];
}
