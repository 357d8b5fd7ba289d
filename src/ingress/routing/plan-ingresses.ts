import { type Steps } from "#lib/async/turns.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { type HostClaim, HostOwners } from "./host-owners.ts";
import { type CertificateWish, type IngressPlan, lastRank } from "./plan-ingress.ts";
import { type Route } from "./route.ts";
import { type Scope } from "./route-table.ts";

/** What all Ingresses ask for together. */
export interface IngressesPlan {
  readonly scopes: readonly Scope[];
  readonly fallbacks: readonly Route[];
  readonly certificates: readonly CertificateWish[];
  /** Which namespace has a host. */
  readonly owners: Pick<HostOwners, "get">;
  /** What is ignored, by the uid of the Ingress. */
  readonly faults: ReadonlyMap<string, readonly string[]>;
}

/** Paths and hosts with certificates, for all Ingresses of a namespace. The oldest fit first. */
export const maxNamespacePaths = 5_000;
/** What a star stands for. */
const wildcard = "one label";
/** Nobody reads more. */
const maxFaults = 10;

/**
 * Decides between Ingresses that want the same: the oldest wins. A host belongs to the namespace of the oldest Ingress
 * or claim that names it or a wildcard above it, so that no namespace can take requests from another.
 */
export function* planIngresses(plans: readonly IngressPlan[], claims: readonly HostClaim[] = []): Steps<IngressesPlan> {
  const sorted = plans.toSorted((a, b) => compareText(a.rank, b.rank));
  const claimed = claims.toSorted((a, b) => compareText(a.rank, b.rank)).values();
  let claim = claimed.next();
  const scopes = new Map<string, Route[]>();
  const taken = new Map<string, string>();
  const hosts = new HostOwners();
  const sizes = new Map<string, number>();
  const fallbacks: Route[] = [];
  const certificates = new Map<string, CertificateWish>();
  const faults = new Map<string, readonly string[]>();
  for (const plan of sorted) {
    for (; !claim.done && compareText(claim.value.rank, plan.rank) < 0; claim = claimed.next())
      hosts.claim(claim.value, "any labels");
    const own = [...plan.faults];
    const size = (sizes.get(plan.namespace) ?? 0) + plan.routes.length + plan.certificates.length;
    if (size > maxNamespacePaths) {
      own.push(`it has no effect: the paths and TLS hosts of its namespace are more than ${maxNamespacePaths}`);
      faults.set(plan.uid, own);
      continue;
    }
    sizes.set(plan.namespace, size);
    for (const route of plan.routes) {
      const fault = hostFault(hosts, route.host, plan) ?? takenBy(taken, route);
      if (fault) own.push(fault);
      else push(scopes, route.host, route);
      yield;
    }
    for (const wish of plan.certificates) {
      const fault = hostFault(hosts, wish.host, plan) ?? certificateTaken(certificates.get(wish.host), wish);
      if (fault) own.push(fault);
      else if (!certificates.has(wish.host)) certificates.set(wish.host, wish);
      yield;
    }
    if (plan.fallback) fallbacks.push(plan.fallback);
    if (own.length > 0) faults.set(plan.uid, fewFaults(own));
  }
  for (; !claim.done; claim = claimed.next()) hosts.claim(claim.value, "any labels");
  return {
    scopes: Array.from(scopes, ([host, routes]) => ({ host, wildcard, routes })),
    fallbacks,
    certificates: [...certificates.values()],
    owners: hosts,
    faults,
  };
}

function fewFaults(faults: readonly string[]): string[] {
  const unique = [...new Set(faults)];
  const more = unique.length - maxFaults;
  return more > 0 ? [...unique.slice(0, maxFaults), `and ${more} more`] : unique;
}

function push(scopes: Map<string, Route[]>, host: string, route: Route): void {
  const routes = scopes.get(host);
  if (routes) routes.push(route);
  else scopes.set(host, [route]);
}

function hostFault(owners: HostOwners, host: string, { namespace }: IngressPlan): string | undefined {
  if (host === "") return undefined;
  owners.claim({ host, namespace }, wildcard);
  // The name of the other namespace is nobody's business.
  if (owners.get(host) === namespace) return undefined;
  return `host ${host} belongs to an older Ingress or Gateway of another namespace`;
}

function takenBy(taken: Map<string, string>, { owner, host, path, rank }: Route): string | undefined {
  if (rank.startsWith(lastRank)) return undefined;
  const key = `${host} ${path.type} ${path.value}`;
  const holder = taken.get(key);
  if (holder === undefined) {
    taken.set(key, owner);
    return undefined;
  }
  const where = `${host || "every host"}${path.value} (${path.type})`;
  const [, namespace] = holder.split(/[ /]/);
  const who =
    holder === owner
      ? "it has it twice"
      : owner.includes(` ${namespace}/`)
        ? `${holder} has it`
        : "an older Ingress has it";
  return `path ${where} is ignored: ${who}`;
}

function certificateTaken(holder: CertificateWish | undefined, { host, secret }: CertificateWish): string | undefined {
  if (!holder || holder.secret === secret) return undefined;
  return `the certificate for ${host || "every host"} is ignored: an older Ingress has another`;
}
