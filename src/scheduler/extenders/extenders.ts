import { type Pod } from "#api/core/pod.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Decision } from "../decide.ts";
import { type PluginRejection } from "../explain.ts";
import { type SchedulerPlugin } from "../framework.ts";
import type { Lane } from "../lanes.ts";
import { type Candidate } from "../preemption/rank.ts";
import { type NodeInfo, type Snapshot } from "../snapshot.ts";
import { type Extender } from "./extender.ts";

/** What extenders say about nodes. */
export interface Advice {
  /** Node → what is added to its score. */
  readonly scores: ReadonlyMap<string, number>;
  readonly rejections: ReadonlyMap<string, PluginRejection>;
}

/** A pod that extenders are asked about. */
export interface Consultation {
  readonly lane: Pick<Lane, "decider" | "prepare">;
  /** Whether the pod still has to be placed. */
  isThere(): boolean;
  readonly signal: AbortSignal;
}

/** Rejections by extenders have this name, as upstream's. */
export const extenderName = "Extender";

/** So many pods are asked about at the same time. Others that concern extenders wait beside the scheduler. */
const maxTogether = 16;

/** Asks all extenders that are interested in a pod, one after another. */
export class Extenders {
  readonly #extenders: readonly Extender[];
  readonly #log: Log;
  readonly #turns = new Semaphore(maxTogether);

  constructor(extenders: readonly Extender[], log: Log) {
    this.#extenders = extenders;
    this.#log = log;
  }

  isInterested(pod: Pod): boolean {
    return this.#extenders.some((extender) => extender.isInterested(pod));
  }

  /** Finds the node of a pod, in turn; undefined if the pod is gone. Fails if an extender fails that may not be left out. */
  async decide(pod: Pod, { lane, isThere, signal }: Consultation): Promise<Decision | undefined> {
    return await this.#turns.take(async () => {
      signal.throwIfAborted();
      await lane.prepare(pod);
      if (!isThere()) return undefined;
      const feasible = lane.decider.feasible(pod);
      if ("message" in feasible) return feasible;
      const advice = await this.#advise(pod, feasible, signal);
      // The cluster may have changed meanwhile.
      await lane.prepare(pod);
      return isThere() ? lane.decider.decideAdvised(pod, advice) : undefined;
    });
  }

  /** Which of the nodes fit, and how good they are. */
  async #advise(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<Advice> {
    const rejections = new Map<string, PluginRejection>();
    let left = nodes;
    for (const extender of this.#concerned(pod)) {
      if (left.length === 0) break;
      const filtered = await this.#ask(extender, () => extender.filter(pod, left, signal));
      if (!filtered) continue;
      for (const [node, rejection] of filtered.failed) rejections.set(node, { ...rejection, plugin: extenderName });
      const fits = new Set(filtered.fits);
      left = left.filter(({ name }) => fits.has(name));
    }
    return { rejections, scores: await this.#score(pod, left, signal) };
  }

  /** The candidates that all extenders allow. */
  async screen(
    pod: Pod,
    found: readonly Candidate[],
    snapshot: Snapshot,
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    let candidates = found;
    for (const extender of this.#concerned(pod)) {
      if (candidates.length === 0) break;
      const asked = candidates;
      const nodeOf = (name: string) => snapshot.get(name);
      candidates = (await this.#ask(extender, () => extender.preempt(pod, asked, nodeOf, signal))) ?? asked;
    }
    return candidates;
  }

  /** Binds pods in place of the default binder, and tries rejected pods again after any change of nodes and pods. */
  get plugin(): SchedulerPlugin {
    return {
      name: extenderName,
      retryOn: { node: () => true, pod: () => true },
      bind: async (pod, node, signal) => {
        for (const extender of this.#concerned(pod)) if (await extender.bind(pod, node, signal)) return true;
        return false;
      },
    };
  }

  /** A score that is missing is no reason to leave a pod without a node. */
  async #score(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const totals = new Map(nodes.map(({ name }) => [name, 0]));
    if (nodes.length === 0) return totals;
    for (const extender of this.#concerned(pod)) {
      try {
        for (const [name, score] of await extender.prioritize(pod, nodes, signal)) {
          totals.set(name, (totals.get(name) ?? 0) + score);
        }
      } catch (error) {
        if (signal.aborted) throw error;
        this.#log.warn("an extender gave no scores", { extender: nameOf(extender), error: messageOf(error) });
      }
    }
    return totals;
  }

  #concerned(pod: Pod): readonly Extender[] {
    return this.#extenders.filter((extender) => extender.isInterested(pod));
  }

  async #ask<T>(extender: Extender, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (cause) {
      const message = `extender ${nameOf(extender)}: ${messageOf(cause)}`;
      if (!extender.settings.ignorable) throw new Error(message, { cause });
      this.#log.warn("skipping an extender", { error: message });
      return undefined;
    }
  }
}

const nameOf = ({ settings }: Extender): string => JSON.stringify(settings.config.server);
