import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import type { ResolveService } from "#server/extension/connections.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type UserInfo } from "#server/request/pipeline.ts";
import type { WebhookConnections } from "#server/webhook/target.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type ScaleViews } from "../changes/change-object.ts";
import { RequestRounds } from "../changes/rounds.ts";
import { type AdmissionPlugin, type AdmissionRequest, type WriteType } from "../plugin.ts";
import type { WebhookWorld } from "./dispatch.ts";
import { ConfiguredWebhooks, type Hook, type WebhookConfiguration } from "./hook.ts";
import { webhookMetrics } from "./webhook-metrics.ts";

/** What the plugins need of the rest of the server. Without it, no webhook is called. */
export interface WebhookServer {
  readonly resources: ResourceRegistry;
  readonly metrics: Metrics;
  readonly recorder: TraceRecorder;
  readonly log: Log;
  readonly resolveService: ResolveService;
  readonly views: ScaleViews;
  /** The server's own writes, without which it could not start, depend on no webhook. */
  isServer(user: UserInfo): boolean;
}

export interface WebhookDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly authorizers: readonly Authorizer[];
  readonly webhooks?: WebhookServer | undefined;
}

/** Lets webhooks change requests, one after the other, and again if later ones changed the object. */
export function mutatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const webhooks = new CalledWebhooks(deps, deps.informers.of(MutatingWebhookConfiguration));
  const rounds = new RequestRounds();
  const mutate = async (request: AdmissionRequest): Promise<void> => {
    const [world, { mutateWith }] = await Promise.all([webhooks.world(), import("./mutate.ts")]);
    await mutateWith(world, { hooks: webhooks.list(), request, round: rounds.of(request) });
  };
  return {
    name: "MutatingAdmissionWebhook",
    appliesTo: isOpenToWebhooks,
    mutate: (request) => (webhooks.concern(request) ? mutate(request) : undefined),
    // A deletion has no object to change, so the other plugins that change objects do not see it.
    validate: (request) => (request.operation === "DELETE" && webhooks.concern(request) ? mutate(request) : undefined),
    again: rounds,
  };
}

/** Lets webhooks refuse requests. */
export function validatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const webhooks = new CalledWebhooks(deps, deps.informers.of(ValidatingWebhookConfiguration));
  const validate = async (request: AdmissionRequest): Promise<void> => {
    const [world, { validateWith }] = await Promise.all([webhooks.world(), import("./validate.ts")]);
    await validateWith(world, webhooks.list(), request);
  };
  return {
    name: "ValidatingAdmissionWebhook",
    appliesTo: isOpenToWebhooks,
    validate: (request) => (webhooks.concern(request) ? validate(request) : undefined),
  };
}

/** The webhooks of one type. What calls them is loaded with the first call. */
class CalledWebhooks<C extends WebhookConfiguration> {
  readonly #deps: WebhookDeps;
  readonly #configured: ConfiguredWebhooks<C>;
  readonly #namespaces: Informer<Namespace>;
  #connections: WebhookConnections | undefined;
  #world: Promise<WebhookWorld> | undefined;

  constructor(deps: WebhookDeps, configurations: Informer<C>) {
    this.#deps = deps;
    this.#namespaces = deps.informers.of(Namespace);
    this.#configured = new ConfiguredWebhooks(configurations, (hook) => this.#connections?.retire(hook.webhook));
  }

  list(): readonly Hook[] {
    return this.#configured.list();
  }

  /** All that a write pays if there are no webhooks. */
  concern({ user }: AdmissionRequest): boolean {
    return !this.#configured.isEmpty && this.#deps.webhooks?.isServer(user) === false;
  }

  world(): Promise<WebhookWorld> {
    this.#world ??= this.#open();
    return this.#world;
  }

  async #open(): Promise<WebhookWorld> {
    const { webhooks, clock, authorizers } = this.#deps;
    if (!webhooks) throw new Error("webhooks cannot be called here");
    const { WebhookConnections } = await import("#server/webhook/target.ts");
    this.#connections = new WebhookConnections();
    const { metrics: allMetrics } = webhooks;
    const metrics = webhookMetrics(allMetrics);
    return {
      ...webhooks,
      metrics,
      allMetrics,
      clock,
      authorizers,
      namespaces: this.#namespaces,
      connections: this.#connections,
    };
  }
}

/** Nobody can lock the administrator out: configurations are exempt. */
const isOpenToWebhooks = ({ resource }: WriteType): boolean => resource.group !== ValidatingWebhookConfiguration.group;
