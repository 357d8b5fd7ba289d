import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { type ApiObject } from "#api/resource.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { isOwnIngress } from "./ingress-class.ts";
import { openSecret, tlsSecrets } from "./open-secret.ts";
import { type HostClaim } from "./routing/host-owners.ts";
import { planBackend } from "./routing/plan-backend.ts";
import { type CertificateWish, planIngress } from "./routing/plan-ingress.ts";
import { type IngressesPlan, planIngresses } from "./routing/plan-ingresses.ts";
import { type Route } from "./routing/route.ts";
import { RouteTable, type Scope } from "./routing/route-table.ts";
import { type TlsScope, TlsTable } from "./routing/tls-table.ts";
import { CertificateIndex, type ServedCertificate } from "./serve/certificates.ts";
import { type DataPlane } from "./serve/data-plane.ts";

/** Further routes, from another API. */
export interface RouteSource {
  /** Called when they may have changed. Returns how to end it. */
  subscribe(changed: () => void): () => void;
  /** The hosts that its users name, which no younger Ingress of another namespace gets. */
  claims(): readonly HostClaim[];
  /** Ingresses have some hosts already; see `IngressesPlan.owners`. */
  plan(owners: IngressesPlan["owners"]): Steps<SourcePlan>;
}
export interface SourcePlan {
  readonly http: readonly Scope[];
  readonly https: readonly Scope[];
  /** For TLS that is not read as HTTP. */
  readonly tls: readonly TlsScope[];
  readonly certificates: readonly (CertificateWish & Pick<Scope, "wildcard">)[];
}

export interface TrafficDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly plane: Pick<DataPlane, "serve" | "setBackend" | "deleteBackend">;
  readonly sources: readonly RouteSource[];
  /** What is ignored of an Ingress, whenever that changes; nothing if all is well. */
  onFaults(ingress: Ingress, faults: readonly string[]): void;
}

/** Changes within this time are planned together. */
const gatherMs = 20;

/** Keeps the data plane as the objects say, until the signal. Work is in proportion to the change where it is frequent: at endpoints. */
export async function runTraffic(deps: TrafficDeps, signal: AbortSignal): Promise<void> {
  const traffic = new Traffic(deps);
  using followed = new DisposableStack();
  await deps.informers.synced(signal);
  traffic.follow(followed);
  const wake = () => traffic.nudge.give();
  signal.addEventListener("abort", wake, { once: true });
  while (!signal.aborted) {
    await traffic.nudge.taken();
    if (signal.aborted) return;
    await deps.clock.sleep(gatherMs, signal);
    await traffic.update();
  }
}

class Traffic {
  readonly nudge = new Nudge();
  readonly #deps: TrafficDeps;
  /** The backends of each service, which is namespace/name. */
  #keys = new Map<string, Set<string>>();
  readonly #staleServices = new Set<string>();
  #areRoutesStale = true;
  readonly #faults = new Map<string, string>();

  constructor(deps: TrafficDeps) {
    this.#deps = deps;
  }

  follow(stack: DisposableStack): void {
    const { informers, sources } = this.#deps;
    const stale = () => {
      this.#areRoutesStale = true;
      this.nudge.give();
    };
    stack.defer(informers.of(Ingress).subscribe((change) => void (isNew(change) && stale())));
    stack.defer(informers.of(IngressClass).subscribe(stale));
    stack.defer(informers.of(Secret, tlsSecrets).subscribe(stale));
    for (const source of sources) stack.defer(source.subscribe(stale));
    stack.defer(informers.of(Service).subscribe(({ object }) => this.#touch(object, object.metadata.name)));
    stack.defer(
      informers
        .of(EndpointSlice)
        .subscribe(({ object }) => this.#touch(object, object.metadata.labels?.[serviceNameLabel])),
    );
    stale();
  }

  #touch({ metadata }: ApiObject, name: string | undefined): void {
    const service = `${metadata.namespace}/${name}`;
    if (!this.#keys.has(service)) return;
    this.#staleServices.add(service);
    this.nudge.give();
  }

  async update(): Promise<void> {
    for (const service of this.#staleServices) {
      this.#staleServices.delete(service);
      for (const key of this.#keys.get(service) ?? []) this.#setBackend(key);
    }
    if (!this.#areRoutesStale) return;
    this.#areRoutesStale = false;
    await inSlices(this.#plan());
  }

  #setBackend(key: string): void {
    const { informers, plane } = this.#deps;
    const { namespace, name, port, isBytes } = partsOf(key);
    const service = informers.of(Service).get({ namespace, name });
    const slices = informers.of(EndpointSlice).by("service", `${namespace}/${name}`);
    plane.setBackend(key, planBackend({ namespace, name, port, service, slices, isBytes }));
  }

  *#plan(): Steps<void> {
    const { informers, sources, plane } = this.#deps;
    const classes = informers.of(IngressClass);
    const own = informers
      .of(Ingress)
      .list()
      .filter((one) => isOwnIngress(one, (name) => classes.get({ name })));
    yield;
    const plans = [];
    for (const ingress of own) {
      plans.push(planIngress(ingress));
      yield;
    }
    const claims = sources.flatMap((source) => source.claims());
    const planned = yield* planIngresses(plans, claims);
    const further: SourcePlan[] = [];
    for (const source of sources) further.push(yield* source.plan(planned.owners));
    const { fallbacks } = planned;
    const scopesOf = (side: "http" | "https") => [...planned.scopes, ...further.flatMap((one) => one[side])];
    const http = yield* RouteTable.build({ scopes: scopesOf("http"), fallbacks });
    const https = yield* RouteTable.build({ scopes: scopesOf("https"), fallbacks });
    const faults = new Map(planned.faults);
    const ofIngresses = planned.certificates.map((wish) => ({ ...wish, wildcard: "one label" as const }));
    const wishes = [...ofIngresses, ...further.flatMap(({ certificates }) => certificates)];
    const tls = further.flatMap((one) => one.tls);
    const names = yield* TlsTable.build(tls, [...ofIngresses, ...further.flatMap((one) => one.https)]);
    const served: ServedCertificate[] = [];
    const uids = new Map(plans.map(({ rank, uid }) => [rank, uid]));
    for (const wish of wishes) {
      const opened = openSecret(informers, wish.secret);
      if ("fault" in opened) note(faults, uids.get(wish.rank), opened.fault);
      else served.push({ host: wish.host, wildcard: wish.wildcard, name: wish.secret, ...opened });
      yield;
    }
    const routes = [...scopesOf("http"), ...scopesOf("https")].flatMap((scope) => scope.routes);
    const used = tls.flatMap((scope) => scope.routes).flatMap((route) => route.backends.map(({ key }) => key));
    yield* this.#useBackends([...routes, ...fallbacks], used);
    plane.serve({ http, https, names, certificates: new CertificateIndex(served) });
    this.#forgetBackends();
    this.#report(own, faults);
  }

  #unused = new Set<string>();

  /** New backends are there before the first request needs them. */
  *#useBackends(routes: readonly Route[], further: readonly (string | undefined)[]): Steps<void> {
    const keys = new Map<string, Set<string>>();
    const use = (key: string | undefined): void => {
      if (key === undefined) return;
      const { namespace, name } = partsOf(key);
      const service = `${namespace}/${name}`;
      keys.set(service, (keys.get(service) ?? new Set()).add(key));
    };
    for (const { action } of routes) {
      yield;
      if (action.type !== "forward") continue;
      for (const { key } of action.backends) use(key);
      for (const { backend } of action.mirrors) use(backend);
    }
    for (const key of further) {
      use(key);
      yield;
    }
    const before = this.#keys;
    this.#keys = keys;
    this.#unused = new Set([...before.values()].flatMap((known) => [...known]));
    for (const [service, wanted] of keys) {
      for (const key of wanted) {
        this.#unused.delete(key);
        if (!before.get(service)?.has(key)) this.#setBackend(key);
        yield;
      }
    }
  }

  #forgetBackends(): void {
    for (const key of this.#unused) this.#deps.plane.deleteBackend(key);
  }

  #report(own: readonly Ingress[], faults: ReadonlyMap<string, readonly string[]>): void {
    const seen = new Set<string>();
    for (const ingress of own) {
      const { uid = "" } = ingress.metadata;
      const now = faults.get(uid) ?? [];
      const text = now.join("; ");
      seen.add(uid);
      if ((this.#faults.get(uid) ?? "") !== text) this.#deps.onFaults(ingress, now);
      this.#faults.set(uid, text);
    }
    for (const uid of this.#faults.keys()) if (!seen.has(uid)) this.#faults.delete(uid);
  }
}

/** A status that only we write changes no route. */
function isNew(change: Change<Ingress>): boolean {
  if (change.type === "delete" || !change.previous) return true;
  const [now, before] = [change.object.metadata, change.previous.metadata];
  return (
    now.generation !== before.generation ||
    now.deletionTimestamp !== before.deletionTimestamp ||
    !equal(now.annotations, before.annotations)
  );
}

function partsOf(key: string): { namespace: string; name: string; port: string; isBytes: boolean } {
  const slash = key.indexOf("/");
  const colon = key.lastIndexOf(":");
  const [port = "", bytes] = key.slice(colon + 1).split(" ");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1, colon), port, isBytes: bytes !== undefined };
}

function note(faults: Map<string, readonly string[]>, uid: string | undefined, fault: string): void {
  if (!uid) return;
  const known = faults.get(uid) ?? [];
  if (!known.includes(fault)) faults.set(uid, [...known, fault]);
}
