import { type Binding } from "#api/core/binding.ts";
import { Pod } from "#api/core/pod.ts";
import { type Client, type ObjectRef } from "#client/client.ts";
import { schedulerUser } from "#cluster/identities.ts";
import { isAbort, type Task } from "#lib/async/tasks.ts";
import { type Random } from "#lib/data/random.ts";
import { startInformers } from "#runtime/cached-informer.ts";
import { runAsLeader } from "#runtime/leader.ts";
import { type Faults, type Life } from "#testing/chaos/faults.ts";
import { type ComponentDeps } from "#testing/start-cluster.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { runScheduler } from "../scheduler.ts";
import { type Attempt, Verdicts } from "../seeing/verdicts.ts";

/** Called when a scheduler asks for a binding. What it returns is called at the answer. */
export type OnBinding = (binding: SentBinding) => () => void;

export interface SentBinding {
  /** One life of a scheduler: what it decided is known to it alone until the store shows it. */
  readonly by: string;
  readonly pod: string;
  readonly node: string;
}

export interface Harness {
  readonly faults: Faults;
  readonly random: Random;
  readonly onBinding: OnBinding;
  /** Called when a scheduler has decided about a pod, before it writes anything. */
  onTried(tried: Tried): void;
  /** Called when a scheduler has read a pod, as it does after a binding that failed. */
  onRead(by: string, pod: Pod): void;
  /** Called when a scheduler asks for the end of a pod. */
  onEnd(by: string, pod: string): void;
  /** Called when a write about a pod failed, or got no answer: the scheduler does not know whether the pod ends. */
  onFailure(by: string, pod: string): void;
}

/** What became of an attempt to place a pod. */
export interface Tried {
  readonly by: string;
  readonly pod: string;
  readonly node: string | undefined;
  /** Pods that have to end, so that it can be placed. */
  readonly victims: readonly string[];
  /** Whether it goes on to wait for room, if it did so before. */
  readonly keepsNomination: boolean;
}

/** Two processes with a scheduler, of which one leads. One that is killed comes back, with nothing that it knew. */
export function twoSchedulers(deps: ComponentDeps, harness: Harness): readonly Task[] {
  const { random } = harness;
  return ["a", "b"].map((name) => async (stop: AbortSignal) => {
    for (let run = 0; !stop.aborted; run++) {
      await runOnce(deps, { ...harness, identity: `${name}-${run}` }, stop);
      await deps.clock.sleep(1 + Math.floor(random() * 5000), stop).catch(() => undefined);
    }
  });
}

interface Candidate extends Harness {
  readonly identity: string;
}

async function runOnce(deps: ComponentDeps, candidate: Candidate, stop: AbortSignal): Promise<void> {
  const { faults, random, identity } = candidate;
  const { clock, log } = deps;
  const end = new AbortController();
  const signal = AbortSignal.any([stop, end.signal]);
  const life: Life = { name: identity, signal, kill: () => end.abort(new Error(`${identity} was killed`)) };
  const client = observed(faults.wrap(deps.clientFor(schedulerUser), life), candidate);
  const informers = startInformers(faults.wrap(deps.client, life), { clock, log, random });
  const lease = { namespace: "kube-system", name: "kube-scheduler" };
  const recorder = new TraceRecorder({ clock, random });
  const verdicts = new Observed(candidate);
  const schedule: Task = (ended) => runScheduler({ client, informers, clock, log, random, recorder, verdicts }, ended);
  try {
    await runAsLeader(schedule, { client, clock, log, random, lease, identity }, signal);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    await informers[Symbol.asyncDispose]();
  }
}

class Observed extends Verdicts {
  readonly #candidate: Candidate;

  constructor(candidate: Candidate) {
    super();
    this.#candidate = candidate;
  }

  override add(key: string, attempt: Attempt): void {
    super.add(key, attempt);
    const { node, keepsNomination = false } = attempt;
    const [, pod = ""] = key.split("/");
    const victims = (attempt.victims ?? []).map((victim) => victim.split("/")[1] ?? "");
    this.#candidate.onTried({ by: this.#candidate.identity, pod, node, victims, keepsNomination });
  }
}

function observed(client: Client, { identity, onBinding, onRead, onEnd, onFailure }: Candidate): Client {
  return {
    ...client,
    async get(resource, ref, options) {
      const answer = await client.get(resource, ref, options);
      if (resource.kind === Pod.kind) onRead(identity, answer as unknown as Pod);
      return answer;
    },
    async delete(resource, ref, options) {
      onEnd(identity, nameOf(ref));
      return await client.delete(resource, ref, options).catch((error: unknown) => {
        onFailure(identity, nameOf(ref));
        throw error;
      });
    },
    async patch(resource, ref, patch, options) {
      return await client.patch(resource, ref, patch, options).catch((error: unknown) => {
        onFailure(identity, nameOf(ref));
        throw error;
      });
    },
    async createSubresource(resource, ref, subresource, body, options) {
      const settled = subresource === "binding" ? onBinding(sentBy(identity, body as unknown as Binding)) : undefined;
      try {
        return await client.createSubresource(resource, ref, subresource, body, options);
      } finally {
        settled?.();
      }
    },
  };
}

const nameOf = (ref: ObjectRef): string => ("metadata" in ref ? ref.metadata.name : ref.name) ?? "";

const sentBy = (by: string, { metadata, target }: Binding): SentBinding => ({
  by,
  pod: metadata.name ?? "",
  node: target.name ?? "",
});
