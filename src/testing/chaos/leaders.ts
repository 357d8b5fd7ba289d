import { controllerUser, provisionerUser } from "#cluster/identities.ts";
import { runControllers } from "#controllers/all.ts";
import { isAbort, runTogether } from "#lib/async/tasks.ts";
import { createAuthority } from "#lib/crypto/x509.ts";
import { type Random } from "#lib/data/random.ts";
import { simulatedDirectories } from "#provisioner/directories.ts";
import { runProvisioner } from "#provisioner/provisioner.ts";
import { startInformers } from "#runtime/cached-informer.ts";
import { type ComponentDeps } from "../start-cluster.ts";
import { type Faults, type Life } from "./faults.ts";

export interface Leadership {
  readonly faults: Faults;
  readonly random: Random;
  /** 2: one that was replaced may go on for a moment, as one does that was paused while its lease ran out. */
  readonly leaders: number;
}

const longestOverlapMs = 3_000;
const longestGapMs = 1_000;
const dayMs = 86_400_000;

/** Runs the controllers as one process after the other: when one is killed, the next takes over. */
export async function runLeaders(deps: ComponentDeps, leadership: Leadership, stop: AbortSignal): Promise<void> {
  const { random, leaders } = leadership;
  const validity = { notBeforeMs: deps.clock.now(), notAfterMs: deps.clock.now() + 365 * dayMs };
  const authority = createAuthority({ subject: { commonName: "kubernetes" }, ...validity });
  const trust = { rootCa: authority.certificate, signer: { authority: () => authority }, signToken: () => "token" };
  let former = Promise.resolve();
  while (!stop.aborted) {
    const replaced = Promise.withResolvers<void>();
    const end = new AbortController();
    const die = (): void => end.abort(new Error("the controllers were killed"));
    const life: Life = {
      name: "controllers",
      signal: AbortSignal.any([stop, end.signal]),
      kill() {
        const overlapMs = leaders > 1 && random() < 0.5 ? Math.floor(random() * longestOverlapMs) : 0;
        if (overlapMs > 0) deps.clock.after(overlapMs, die);
        else die();
        replaced.resolve();
      },
    };
    const current = lead(deps, { ...trust, faults: leadership.faults, random }, life);
    await Promise.race([replaced.promise, current]);
    // Never three at once.
    await former;
    former = current;
    await deps.clock.sleep(Math.floor(random() * longestGapMs), stop).catch(() => undefined);
  }
  await former;
}

type Trust = Pick<Parameters<typeof runControllers>[0], "rootCa" | "signer" | "signToken">;

/** One process, with its own informers. */
async function lead(
  deps: ComponentDeps,
  { faults, random, ...trust }: Trust & { readonly faults: Faults; readonly random: Random },
  life: Life,
): Promise<void> {
  const { clock, log } = deps;
  const { signal } = life;
  const clientFor = (account: string) => faults.wrap(deps.clientFor(controllerUser(account)), life);
  const informers = startInformers(faults.wrap(deps.client, life), { clock, log, random });
  const own = { ...deps, informers };
  const volumes = { serves: () => true, directories: simulatedDirectories };
  try {
    await runTogether(signal, [
      (stop) => runControllers({ ...own, ...trust, legacyTokens, clientFor }, stop),
      (stop) => runProvisioner(volumes, { ...own, client: faults.wrap(deps.clientFor(provisionerUser), life) }, stop),
    ]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    await informers[Symbol.asyncDispose]();
  }
}

/** Short, so that a test sees the end of a token within its hours. */
const legacyTokens = { cleanUpMs: 1_800_000 };
