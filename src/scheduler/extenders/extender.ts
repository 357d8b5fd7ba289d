import { type Pod } from "#api/core/pod.ts";
import { type ClientConfig } from "#client/client-config.ts";
import { createWebhook, type Webhook } from "#client/webhook/webhook.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Slice } from "#lib/async/turns.ts";
import { parseBoundedJson } from "#lib/text/bounded-json.ts";
import { type Candidate } from "../preemption/rank.ts";
import { type NodeInfo } from "../snapshot.ts";
import { checkBinding, type Filtered, parseFilter, parsePreemption, parseScores } from "./answers.ts";

export interface ExtenderSettings {
  /** How to reach it; the server is the prefix of all its URLs. */
  readonly config: ClientConfig;
  readonly timeoutMs: number;
  readonly filterVerb?: string | undefined;
  readonly prioritizeVerb?: string | undefined;
  readonly preemptVerb?: string | undefined;
  readonly bindVerb?: string | undefined;
  readonly weight: number;
  readonly nodeCacheCapable: boolean;
  readonly ignorable: boolean;
  /** Pods that ask for none of these do not concern it; if there are none, all pods do. */
  readonly managedResources: readonly string[];
}

/** An answer must not hold up the main thread while it is parsed. */
const maxBytes = 4 << 20;
const maxValues = 100_000;

/** A server that is asked about nodes for a pod. It is not trusted: it has a time limit, and its answers are checked. */
export class Extender implements Disposable {
  readonly settings: ExtenderSettings;
  readonly #managed: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #webhooks = new Map<string, Webhook>();

  constructor(settings: ExtenderSettings, clock: Clock) {
    this.settings = settings;
    this.#managed = new Set(settings.managedResources);
    this.#clock = clock;
  }

  isInterested({ spec }: Pod): boolean {
    if (this.#managed.size === 0) return true;
    return [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
      [resources.requests, resources.limits].some((list) =>
        Object.keys(list ?? {}).some((name) => this.#managed.has(name)),
      ),
    );
  }

  async filter(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<Filtered> {
    const { filterVerb } = this.settings;
    const names = nodes.map(({ name }) => name);
    if (!filterVerb) return { fits: names, failed: new Map() };
    return parseFilter(await this.#send(filterVerb, await this.#about(pod, nodes), signal), names);
  }

  /** Node → what is added to its score. */
  async prioritize(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const { prioritizeVerb, weight } = this.settings;
    if (!prioritizeVerb) return new Map();
    const answer = await this.#send(prioritizeVerb, await this.#about(pod, nodes), signal);
    return parseScores(answer, new Set(nodes.map(({ name }) => name)), weight);
  }

  /** Which of the candidates may be preempted, perhaps with other victims. */
  async preempt(
    pod: Pod,
    candidates: readonly Candidate[],
    nodeOf: (name: string) => NodeInfo | undefined,
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    const { preemptVerb, nodeCacheCapable } = this.settings;
    if (!preemptVerb) return candidates;
    const victims = Object.fromEntries(
      candidates.map(({ node, victims, broken }) => {
        const pods = victims.map(({ pod }) => (nodeCacheCapable ? { UID: pod.metadata.uid } : pod));
        return [node, { Pods: pods, NumPDBViolations: broken }];
      }),
    );
    const what = nodeCacheCapable ? { NodeNameToMetaVictims: victims } : { NodeNameToVictims: victims };
    const answer = await this.#send(preemptVerb, bytesOf({ Pod: pod, ...what }), signal);
    return parsePreemption(answer, pod, nodeOf);
  }

  /** Returns false if it does not bind. */
  async bind({ metadata }: Pod, node: string, signal: AbortSignal): Promise<boolean> {
    const { bindVerb } = this.settings;
    if (!bindVerb) return false;
    const { name, namespace, uid } = metadata;
    const body = bytesOf({ PodName: name, PodNamespace: namespace, PodUID: uid, Node: node });
    checkBinding(await this.#send(bindVerb, body, signal));
    return true;
  }

  [Symbol.dispose](): void {
    for (const webhook of this.#webhooks.values()) webhook[Symbol.dispose]();
  }

  /** Thousands of nodes are written down in turns. */
  async #about(pod: Pod, nodes: readonly NodeInfo[]): Promise<Uint8Array> {
    if (this.settings.nodeCacheCapable) return bytesOf({ Pod: pod, NodeNames: nodes.map(({ name }) => name) });
    const slice = new Slice();
    const items: string[] = [];
    for (const { node } of nodes) {
      items.push(JSON.stringify(node));
      if (slice.isOver) await slice.rest();
    }
    return Buffer.from(`{"Pod":${JSON.stringify(pod)},"Nodes":{"metadata":{},"items":[${items.join(",")}]}}`);
  }

  async #send(verb: string, body: Uint8Array, signal: AbortSignal): Promise<unknown> {
    let webhook = this.#webhooks.get(verb);
    if (!webhook) {
      const { config, timeoutMs } = this.settings;
      const server = `${config.server.replace(/\/+$/, "")}/${verb}`;
      webhook = createWebhook({ ...config, server }, { clock: this.#clock, timeoutMs, maxBytes });
      this.#webhooks.set(verb, webhook);
    }
    const answer = await webhook.post(body, signal);
    try {
      return parseBoundedJson(answer, maxValues);
    } catch (cause) {
      throw new Error(`the answer ${cause instanceof RangeError ? `has ${cause.message}` : "is not JSON"}`, { cause });
    }
  }
}

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
