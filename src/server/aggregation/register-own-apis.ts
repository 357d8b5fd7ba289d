import { APIService } from "#api/apiregistration/api-service.ts";
import { ignoreNotFound, isAlreadyExists, isConflict } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import { type ResourceRegistry } from "../registry.ts";
import { localService, planRegistration, type Registered } from "./plan-registration.ts";

export interface RegisterDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when every group and version has its APIService. */
  registered?(): void;
}

/** A few definitions that are applied together cost one round. */
const pauseMs = 50;
const retryMs = 1000;

/**
 * Keeps an APIService for every group and version that this server serves itself, until the signal. The server needs
 * none of them: they tell its clients. So nothing waits for them, and they are written a few at a time.
 */
export async function registerOwnApis(deps: RegisterDeps, signal: AbortSignal): Promise<void> {
  const { informers, resources, clock, log } = deps;
  const services = informers.of(APIService);
  await services.synced(signal);
  const round = new Round(deps, new Set(services.list().map(({ metadata }) => metadata.name)));
  const changes = new Nudge();
  const stops = [resources.subscribe(() => changes.give()), services.subscribe(() => changes.give())];
  try {
    for (let isFirst = true; !signal.aborted; ) {
      try {
        await round.run(signal);
        if (isFirst) deps.registered?.();
        isFirst = false;
      } catch (error) {
        if (signal.aborted) return;
        log.warn("API services could not be registered, trying again", { error: messageOf(error) });
        await clock.sleep(retryMs, signal);
        continue;
      }
      await orAborted(changes.taken(), signal);
      await clock.sleep(pauseMs, signal);
    }
  } finally {
    for (const stop of stops) stop();
  }
}

const writesAtOnce = 4;

/** Compares what is served with what is registered. */
class Round {
  readonly #deps: RegisterDeps;
  readonly #there: ReadonlySet<string>;
  readonly #settled = new Set<string>();
  readonly #builtIn: ReadonlyMap<string, Registered>;

  constructor(deps: RegisterDeps, there: ReadonlySet<string>) {
    this.#deps = deps;
    this.#there = there;
    const services = deps.resources.builtIn.map((resource) => localService(resource, { isBuiltIn: true }));
    this.#builtIn = new Map(services.flatMap((service) => (service ? [[service.metadata.name, service]] : [])));
  }

  async run(signal: AbortSignal): Promise<void> {
    const wanted = this.#wanted();
    const current = new Map(
      this.#deps.informers
        .of(APIService)
        .list()
        .map((one) => [one.metadata.name, one]),
    );
    const names = [...new Set([...wanted.keys(), ...current.keys()])];
    for (let at = 0; at < names.length; at += writesAtOnce) {
      const some = names.slice(at, at + writesAtOnce);
      await Promise.all(
        some.map((name) => this.#settle(name, wanted.get(name), { current: current.get(name), signal })),
      );
    }
  }

  #wanted(): Map<string, Registered> {
    const wanted = new Map(this.#builtIn);
    for (const resource of this.#deps.resources.custom()) {
      const service = localService(resource, { isBuiltIn: false });
      if (service && !wanted.has(service.metadata.name)) wanted.set(service.metadata.name, service);
    }
    return wanted;
  }

  async #settle(
    name: string,
    wanted: Registered | undefined,
    { current, signal }: { readonly current: APIService | undefined; readonly signal: AbortSignal },
  ): Promise<void> {
    const [wasThere, wasSettled] = [this.#there.has(name), this.#settled.has(name)];
    const step = planRegistration({ wanted, current, wasThere, wasSettled });
    const { client } = this.#deps;
    if (step === "create" && wanted) await client.create(APIService, wanted, { signal }).catch(ignoreRaces);
    if (step === "update" && wanted && current)
      await client
        .update(APIService, { ...current, spec: wanted.spec as APIService["spec"] }, { signal })
        .catch(ignoreRaces);
    if (step === "delete" && current)
      await client
        .delete(APIService, { name }, { preconditions: { uid: current.metadata.uid ?? "" }, signal })
        .catch(ignoreRaces);
    if (wanted || current) this.#settled.add(name);
    else this.#settled.delete(name);
  }
}

/** Whoever was faster has changed an APIService, and that starts another round. */
function ignoreRaces(error: unknown): undefined {
  if (isAlreadyExists(error) || isConflict(error)) return undefined;
  return ignoreNotFound(error);
}
