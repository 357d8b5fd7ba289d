import { type Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Random, randomHex } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { recordTypes } from "./message.ts";
import { askByConnection, askByDatagram, parseUpstream, type Upstream } from "./upstream.ts";
import {
  decodeUpstreamAnswer,
  encodeUpstreamQuery,
  isAnswerTo,
  type UpstreamAnswer,
  type UpstreamQuery,
} from "./upstream-answer.ts";

export interface ForwarderDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  /** The servers for names outside the cluster: `10.0.0.1`, `10.0.0.1:5353`. */
  readonly upstreams: readonly string[];
  /** Other servers for names that end in these domains. */
  readonly stubDomains?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly signal: AbortSignal;
}

export interface Forwarded {
  readonly answer: UpstreamAnswer;
  /** How long ago the answer arrived. */
  readonly ageSeconds: number;
}

const attemptMs = 1_500;
const maxAttempts = 3;
const maxUnderway = 1_000;
const cachedAnswers = 4_096;
/** Larger answers are not cached, so that the cache takes at most 8 MiB. */
const cachedBytes = 2_048;
/** A server that failed this often in a row is tried after the others for a while. */
const failuresBeforePause = 2;
const pauseMs = 5_000;

interface Server extends Upstream {
  failures: number;
  pausedUntilMs: number;
  /** Fires when the server turns out to forward to us. */
  readonly loop: AbortController;
  probe: string | undefined;
}

/**
 * Asks other servers for names outside the cluster, in their order, and caches answers for their time to live. If no server
 * can be asked, it fails immediately.
 */
export class Forwarder {
  readonly #deps: ForwarderDeps;
  readonly #servers = new Map<string, Server>();
  /** The longest domain first; "" matches every name. */
  readonly #routes: readonly { readonly domain: string; readonly servers: readonly Server[] }[];
  readonly #cache = new LruMap<string, { readonly answer: UpstreamAnswer; readonly sinceMs: number }>(cachedAnswers);
  readonly #underway = new Map<string, Promise<UpstreamAnswer | undefined>>();
  readonly #probeId: string;

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
    this.#probeId = randomHex(deps.random, 8);
    const routes = Object.entries({ ...deps.stubDomains, "": deps.upstreams }).map(([domain, upstreams]) => ({
      domain: domain.toLowerCase().replace(/^\.|\.$/g, ""),
      servers: upstreams.map((upstream) => this.#server(upstream)),
    }));
    this.#routes = routes.sort((a, b) => b.domain.length - a.domain.length);
  }

  /** Undefined if no server answered. Throws a WireError if the question cannot be encoded. */
  async ask(query: UpstreamQuery): Promise<Forwarded | undefined> {
    const { question, dnssec, checkingDisabled } = query;
    const name = question.name.toLowerCase();
    const key = `${name} ${question.type} ${question.class} ${dnssec} ${checkingDisabled}`;
    const cached = this.#cache.get(key);
    const nowMs = this.#deps.clock.now();
    if (cached && nowMs < cached.sinceMs + cached.answer.ttlSeconds * 1000) {
      return { answer: cached.answer, ageSeconds: Math.floor((nowMs - cached.sinceMs) / 1000) };
    }
    const answer = await (this.#underway.get(key) ?? this.#start(key, query));
    return answer && { answer, ageSeconds: 0 };
  }

  /** Whether the name is one of our loop probes. If so, the server that forwards to us is not used any more. */
  noticeProbe(name: string): boolean {
    for (const [id, server] of this.#servers) {
      if (!server.probe || server.probe !== name.toLowerCase()) continue;
      if (!server.loop.signal.aborted)
        this.#deps.log.error("the upstream DNS server forwards to this one", { upstream: id });
      server.loop.abort(new Error(`${id} asks us`));
      return true;
    }
    return false;
  }

  #server(text: string): Server {
    const upstream = parseUpstream(text);
    const id = `${upstream.host} ${upstream.port}`;
    const known = this.#servers.get(id);
    if (known) return known;
    const server = { ...upstream, failures: 0, pausedUntilMs: 0, loop: new AbortController(), probe: undefined };
    this.#servers.set(id, server);
    return server;
  }

  /** Concurrent equal questions are sent once. */
  async #start(key: string, query: UpstreamQuery): Promise<UpstreamAnswer | undefined> {
    if (this.#underway.size >= maxUnderway) return undefined;
    encodeUpstreamQuery(0, query); // A question that cannot be encoded must not count as a server's failure.
    const asking = this.#askInTurn(query);
    this.#underway.set(key, asking);
    try {
      const answer = await asking;
      if (answer && answer.ttlSeconds > 0 && answer.bytes.length <= cachedBytes)
        this.#cache.set(key, { answer, sinceMs: this.#deps.clock.now() });
      return answer;
    } finally {
      this.#underway.delete(key);
    }
  }

  async #askInTurn(query: UpstreamQuery): Promise<UpstreamAnswer | undefined> {
    const name = query.question.name.toLowerCase();
    const route = this.#routes.find(({ domain }) => domain === "" || name === domain || name.endsWith(`.${domain}`));
    const nowMs = this.#deps.clock.now();
    const usable = (route?.servers ?? []).filter(({ loop }) => !loop.signal.aborted);
    const sound = usable.filter(({ pausedUntilMs }) => pausedUntilMs <= nowMs);
    // A client that asks for names without answers must not make a server look dead to all others.
    const servers = sound.length > 0 ? sound : usable.slice(0, 1);
    const attempts = sound.length > 0 ? maxAttempts : 1;
    for (let attempt = 0; attempt < attempts && servers.length > 0; attempt++) {
      const server = servers[attempt % servers.length];
      if (!server || server.loop.signal.aborted || this.#deps.signal.aborted) continue;
      this.#sendProbe(server);
      const answer = await this.#attempt(server, query);
      if (answer) return answer;
    }
    return undefined;
  }

  /** Asks one server once, and records its success or failure. */
  async #attempt(server: Server, query: UpstreamQuery): Promise<UpstreamAnswer | undefined> {
    const { clock, log } = this.#deps;
    try {
      const answer = await this.#exchange(server, query);
      if (answer !== outOfTime) {
        server.failures = 0;
        return answer;
      }
    } catch (error) {
      if (this.#deps.signal.aborted) return undefined;
      log.debug("upstream DNS server failed", { upstream: server.host, error });
    }
    server.failures++;
    if (server.failures >= failuresBeforePause) server.pausedUntilMs = clock.now() + pauseMs;
    return undefined;
  }

  #exchange(server: Server, query: UpstreamQuery): Promise<UpstreamAnswer | typeof outOfTime> {
    const { clock, random } = this.#deps;
    const id = Math.floor(random() * 65_536);
    const bytes = encodeUpstreamQuery(id, query);
    const accepts = (answer: Buffer): boolean => isAnswerTo(answer, id, query.question);
    const signal = AbortSignal.any([this.#deps.signal, server.loop.signal]);
    return withDeadline(attemptMs, { clock, signal }, async (limit) => {
      const first = decodeUpstreamAnswer(await askByDatagram(server, { query: bytes, accepts, signal: limit }));
      if (!first.isTruncated) return first;
      return decodeUpstreamAnswer(await askByConnection(server, { query: bytes, accepts, signal: limit }));
    });
  }

  /** Sends each server one name that nobody else knows. If that question comes back to us, the servers form a loop. */
  #sendProbe(server: Server): void {
    if (server.probe) return;
    const index = [...this.#servers.values()].indexOf(server);
    server.probe = `${this.#probeId}.${index}-orlop-loop`;
    const question = { name: server.probe, type: recordTypes.HINFO, class: 1 };
    // The answer does not matter, only whether the question comes back.
    this.#exchange(server, { question, dnssec: false, checkingDisabled: false }).catch(() => {});
  }
}
