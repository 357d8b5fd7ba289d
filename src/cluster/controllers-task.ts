import { chooseControllers } from "#controllers/choose-controllers.ts";
import type { NodeLifecycleOptions } from "#controllers/node/plan-node-health.ts";
import type { LegacyTokenOptions } from "#controllers/tokens/legacy-token-cleaner.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Task } from "#lib/async/tasks.ts";
import { type JwtPart, type SigningKey, signJwt } from "#lib/crypto/jwt.ts";
import { type Log } from "#lib/process/log.ts";
import { QueueMeters } from "#runtime/queue-meters.ts";
import type { RunDeps } from "#runtime/run-reconciler.ts";
import { type AssembledServer } from "./api-server.ts";
import { type Certificates } from "./certificates.ts";
import { type ElectionOptions } from "./elect.ts";
import { controllerUser } from "./identities.ts";

/** Which controllers run, and how. */
export interface ControllerSettings {
  /** As `--controllers` has them: `*`, `NAME` and `-NAME`; all by default. */
  readonly choice?: readonly string[];
  /** Of controllers and scheduler. */
  readonly election?: ElectionOptions;
  /** How long certificates for signing requests are valid at most; a year by default. */
  readonly signingDurationMs?: number;
  readonly legacyTokens?: LegacyTokenOptions;
  readonly nodeLifecycle?: NodeLifecycleOptions;
}

export interface ControllersParts {
  readonly api: AssembledServer;
  readonly certificates: Certificates;
  /** Signs the tokens in Secrets. */
  readonly key: SigningKey;
  readonly clock: Clock;
  readonly log: Log;
  /** The range from which nodes get their pod ranges; 10.244.0.0/16 by default. */
  readonly clusterCidr?: string | undefined;
}

/** Controllers are loaded while the server answers already: they are a fifth of the code. */
const load = () => import("#controllers/all.ts");

/** Which controllers run. Rejects if the choice makes no sense. The usual one is known without loading them. */
export async function controllersThatRun({
  choice = ["*"],
}: ControllerSettings = {}): Promise<(controller: string) => boolean> {
  const isAll = choice.length > 0 && choice.every((word) => word === "*");
  return isAll ? () => true : chooseControllers(choice, (await load()).controllerNames);
}

/** The controllers of a control plane, each as its own user. */
export function controllersTask(settings: ControllerSettings, parts: ControllersParts): Task {
  const { api, certificates, key, clock, log, clusterCidr } = parts;
  const { signingDurationMs: durationMs, legacyTokens, nodeLifecycle } = settings;
  const meters = new QueueMeters(api.metrics, clock);
  const deps = {
    informers: api.informers,
    recorder: api.recorder,
    kinds: api.resources,
    remoteKinds: api.remote,
    ...{ clock, log, legacyTokens, nodeLifecycle },
    ...(clusterCidr ? { clusterCidr } : {}),
    rootCa: certificates.pki.authority.certificate,
    signer: { authority: () => certificates.pki.authority, ...(durationMs === undefined ? {} : { durationMs }) },
    signToken: (claims: JwtPart) => signJwt(key, claims),
    clientFor: (account: string) => api.clientFor(controllerUser(account)),
    onQueue: ((name, queue) => {
      queue.meter = meters.of(name);
    }) satisfies RunDeps["onQueue"],
  };
  return async (signal) => {
    const runs = await controllersThatRun(settings);
    const { runControllers } = await load();
    await runControllers({ ...deps, runs }, signal);
  };
}
