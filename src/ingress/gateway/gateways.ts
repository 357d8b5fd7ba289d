import { Namespace } from "#api/core/namespace.ts";
import { Service } from "#api/core/service.ts";
import { type LabelSelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Log } from "#lib/process/log.ts";
import { startInformers } from "#runtime/cached-informer.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { ensure } from "../ensure.ts";
import { openSecret } from "../open-secret.ts";
import { type HostClaim } from "../routing/host-owners.ts";
import { type IngressesPlan } from "../routing/plan-ingresses.ts";
import { type RouteSource, type SourcePlan } from "../traffic.ts";
import { gatewayGroup } from "./definitions.ts";
import { type GatewayFacts } from "./facts.ts";
import { ensureGatewayClass, ensureGatewayKinds, gatewayController } from "./install.ts";
import {
  type BackendRef,
  Gateway,
  GatewayClass,
  type GatewayRoute,
  GRPCRoute,
  HTTPRoute,
  ReferenceGrant,
  TLSRoute,
} from "./kinds.ts";
import { type GatewaysPlan, planGateways } from "./plan-gateways.ts";
import { claimsOf } from "./plan-listeners.ts";
import { type RefFault, type RouteSubject } from "./plan-rules.ts";
import { isPermitted } from "./references.ts";
import { renderClassStatus, renderGatewayStatus, renderRouteStatus } from "./render-status.ts";

export interface GatewaysDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly ports: GatewayFacts["ports"];
  readonly addresses: readonly string[];
}

const routeKinds = [HTTPRoute, GRPCRoute, TLSRoute] as const;
const nothing: SourcePlan = { http: [], https: [], tls: [], certificates: [] };

/** The routes of Gateways, and what their owners are told. */
export class Gateways implements RouteSource {
  readonly #deps: GatewaysDeps;
  readonly #handlers = new Set<() => void>();
  readonly #planned = new Nudge();
  /** Of our own kinds, once they are there. */
  #own: Informers | undefined;
  #plan: GatewaysPlan | undefined;

  constructor(deps: GatewaysDeps) {
    this.#deps = deps;
  }

  subscribe(changed: () => void): () => void {
    this.#handlers.add(changed);
    return () => this.#handlers.delete(changed);
  }

  /** Creates the kinds and the class. Resolves when they are served. */
  async install(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#deps;
    const act = async () => {
      await ensureGatewayKinds(client, clock, signal);
      await ensureGatewayClass(client, signal);
    };
    await ensure(this.#deps, { what: "the kinds of the Gateway API", act }, signal);
  }

  /** Follows the objects of the kinds, which are installed, and writes their status until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#deps;
    await using own = startInformers(client, { clock, log });
    using followed = new DisposableStack();
    const changed = (change: Change<ApiObject>) => {
      if (isNew(change)) for (const handler of this.#handlers) handler();
    };
    for (const kind of [GatewayClass, Gateway, ...routeKinds, ReferenceGrant] as const) {
      followed.defer(own.of(kind as unknown as Resource).subscribe(changed));
    }
    const { informers } = this.#deps;
    followed.defer(informers.of(Namespace).subscribe((change) => this.#plan && changed(change)));
    followed.defer(informers.of(Service).subscribe((change) => this.#plan && changed(change)));
    await own.synced(signal);
    this.#own = own;
    for (const handler of this.#handlers) handler();
    await this.#writeStatuses(signal);
  }

  claims(): readonly HostClaim[] {
    const own = this.#own;
    return own ? this.#gatewaysOf(own).flatMap((gateway) => claimsOf(gateway, this.#deps.ports)) : [];
  }

  *plan(owners: IngressesPlan["owners"]): Steps<SourcePlan> {
    const own = this.#own;
    if (!own) return nothing;
    this.#plan = yield* planGateways(this.#factsOf(own, owners));
    this.#planned.give();
    return this.#plan;
  }

  #gatewaysOf(own: Informers): Gateway[] {
    const classes = own.of(GatewayClass);
    const isOurs = ({ spec, metadata }: Gateway): boolean =>
      !metadata.deletionTimestamp &&
      classes.get({ name: spec.gatewayClassName })?.spec.controllerName === gatewayController;
    return own.of(Gateway).list().filter(isOurs);
  }

  #factsOf(own: Informers, owners: IngressesPlan["owners"]): GatewayFacts {
    const { informers, ports } = this.#deps;
    const subjects = (kind: RouteSubject["kind"], routes: readonly GatewayRoute[]): RouteSubject[] =>
      routes.filter(({ metadata }) => !metadata.deletionTimestamp).map((route) => ({ kind, route }));
    const grantsIn = (namespace: string) => own.of(ReferenceGrant).list(namespace);
    return {
      ports,
      grantsIn,
      gateways: this.#gatewaysOf(own),
      routes: [
        ...subjects("HTTPRoute", own.of(HTTPRoute).list()),
        ...subjects("GRPCRoute", own.of(GRPCRoute).list()),
        ...subjects("TLSRoute", own.of(TLSRoute).list()),
      ],
      hostOwner: (host) => owners.get(host),
      matchesNamespace: (name, selector) => selects(selector, informers.of(Namespace).get({ name })),
      secretFault(key) {
        const opened = openSecret(informers, key);
        return "fault" in opened ? opened.fault : undefined;
      },
      faultOf: (ref, from) => backendFault({ ref, from, grantsIn }, informers),
    };
  }

  async #writeStatuses(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const wake = () => this.#planned.give();
    signal.addEventListener("abort", wake, { once: true });
    while (!signal.aborted) {
      await this.#planned.taken();
      if (signal.aborted) return;
      try {
        await this.#writeAll(signal);
      } catch (error) {
        if (isAbort(error, signal)) return;
        log.warn("the status of a Gateway could not be written", { error });
        await clock.sleep(retryMs, signal);
        this.#planned.give();
      }
    }
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    const { clock, addresses } = this.#deps;
    const [own, plan] = [this.#own, this.#plan];
    if (!own || !plan) return;
    const now = timestamp(clock.now());
    for (const one of own.of(GatewayClass).list()) {
      if (one.spec.controllerName !== gatewayController) continue;
      await this.#write(GatewayClass, { ...one, status: renderClassStatus(one, now) }, one, signal);
    }
    for (const [gateway, findings] of plan.gateways) {
      const current = own.of(Gateway).get(gateway.metadata) ?? gateway;
      const status = renderGatewayStatus(gateway, findings, { addresses, now, known: current.status });
      await this.#write(Gateway, { ...current, status }, current, signal);
    }
    for (const kind of routeKinds) {
      for (const route of own.of(kind).list()) {
        const findings = findingsFor(plan, route);
        const parents = renderRouteStatus(route, findings, now);
        if (parents.length === 0 && !route.status?.parents?.length) continue;
        await this.#write(kind, { ...route, status: { parents } }, route, signal);
      }
    }
  }

  /** A conflict means that the object has changed, and so it is planned again. */
  async #write<T extends ApiObject & { status?: unknown }>(
    resource: Resource<T>,
    wanted: T,
    current: T,
    signal: AbortSignal,
  ): Promise<void> {
    if (equal(wanted.status, current.status)) return;
    await this.#deps.client.updateStatus(resource, wanted, { signal }).catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      this.#deps.log.debug("a status is written again later", { error });
    });
  }
}

const retryMs = 1_000;

/** The plan may be about the route as it was before its status was written. */
function findingsFor({ routes }: GatewaysPlan, route: GatewayRoute) {
  const known = routes.get(route);
  if (known) return known;
  for (const [planned, findings] of routes) {
    if (planned.metadata.uid === route.metadata.uid && planned.metadata.generation === route.metadata.generation)
      return findings;
  }
  return [];
}

/** Only what users write changes a plan. */
function isNew(change: Change<ApiObject>): boolean {
  if (change.type === "delete" || !change.previous) return true;
  const [now, before] = [change.object.metadata, change.previous.metadata];
  if (now.generation === undefined) return true;
  return now.generation !== before.generation || now.deletionTimestamp !== before.deletionTimestamp;
}

function selects(selector: LabelSelector, namespace: Namespace | undefined): boolean {
  try {
    return namespace !== undefined && matches(selector, namespace.metadata.labels);
  } catch {
    // The definition does not check operators.
    return false;
  }
}

interface BackendSubject {
  readonly ref: BackendRef;
  readonly from: { readonly kind: string; readonly namespace: string };
  readonly grantsIn: GatewayFacts["grantsIn"];
}

function backendFault({ ref, from, grantsIn }: BackendSubject, informers: Informers): RefFault | undefined {
  const { group = "", kind = "Service", name, port = 0 } = ref;
  if (group !== "" || kind !== "Service") {
    return { reason: "InvalidKind", message: `a backend of the kind ${kind} is not supported: use a Service` };
  }
  const namespace = ref.namespace ?? from.namespace;
  const to = { group, kind, name, namespace };
  if (!isPermitted({ from: { group: gatewayGroup, ...from }, to }, grantsIn)) {
    return {
      reason: "RefNotPermitted",
      message: `no ReferenceGrant allows the reference to service ${namespace}/${name}`,
    };
  }
  const service = informers.of(Service).get({ namespace, name });
  if (!service) return { reason: "BackendNotFound", message: `service ${namespace}/${name} does not exist` };
  const found = (service.spec.ports ?? []).find((one) => one.port === port && (one.protocol ?? "TCP") === "TCP");
  if (!found) return { reason: "BackendNotFound", message: `service ${namespace}/${name} has no TCP port ${port}` };
  return undefined;
}
