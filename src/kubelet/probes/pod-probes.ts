import type { Probe } from "#api/core/container/probe.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Clock } from "#lib/async/clock.ts";
import { SparseMap } from "#lib/data/sparse-map.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { firstVerdict, judge, type ProbeKind, type Verdict } from "./judge.ts";
import type { ProbeOutcome } from "./network.ts";
import type { ProbeResult, ProbeResults, ReadinessView } from "./results.ts";

/** A probe, and what it decides. */
export interface KindOfProbe {
  readonly kind: ProbeKind;
  readonly probe: Probe;
}

export interface PodProbeDeps {
  readonly clock: Clock;
  /** Runs one check. */
  check(containerId: string, probe: KindOfProbe, signal: AbortSignal): Promise<ProbeOutcome>;
  /** Called when a result has changed. */
  changed(): void;
  recordEvent(container: string, reason: "Unhealthy" | "ProbeWarning", message: string): void;
}

export interface ProbedContainer {
  readonly id: string;
  readonly container: AnyContainer;
  readonly startedAt: number;
  /** The API's state of a container that an earlier kubelet started. It holds until a check changes it. */
  readonly known?: { readonly started: boolean; readonly ready: boolean };
}

export interface ProbeCount {
  readonly container: string;
  readonly probe: (typeof titles)[ProbeKind];
  readonly result: "successful" | "failed" | "unknown";
  readonly count: number;
}

interface Series extends KindOfProbe {
  readonly stop: AbortController;
  verdict: Verdict;
}
interface Watched extends ProbedContainer {
  readonly series: Map<ProbeKind, Series>;
}

const titles = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const;
/** How soon a server that does not listen yet is probed again, doubling up to the probe's period. */
const earlyRetryMs = 100;

/** The probes of one pod's containers, and their results. */
export class PodProbes implements ProbeResults, ReadinessView {
  readonly #deps: PodProbeDeps;
  readonly #watched = new SparseMap<string, Watched>();
  readonly #counts = new SparseMap<string, ProbeCount>();

  constructor(deps: PodProbeDeps) {
    this.#deps = deps;
  }

  /** Starts the probes of a running container. Idempotent. */
  start(target: ProbedContainer): void {
    const { id, container, known } = target;
    const { startupProbe, livenessProbe, readinessProbe } = container;
    if (this.#watched.has(id) || !(startupProbe ?? livenessProbe ?? readinessProbe)) return;
    const watched: Watched = { ...target, series: new Map() };
    this.#watched.set(id, watched);
    if (startupProbe && !known?.started) this.#begin(watched, "startup", startupProbe);
    else this.#beginOthers(watched);
  }

  stop(id: string): void {
    for (const { stop } of this.#watched.get(id)?.series.values() ?? []) stop.abort();
    this.#watched.delete(id);
  }

  stopAll(): void {
    for (const id of [...this.#watched.keys()]) this.stop(id);
  }

  /** A pod that is stopping is not restarted any more, but its readiness still matters. */
  stopRestarting(): void {
    for (const { series } of this.#watched.values()) {
      for (const one of series.values()) {
        if (one.kind === "readiness") continue;
        one.stop.abort();
        one.verdict = { ...one.verdict, result: "success" };
      }
    }
  }

  /** How many checks had which result, for metrics. */
  get counts(): Iterable<ProbeCount> {
    return this.#counts.values();
  }

  startup = (id: string): ProbeResult | undefined => this.#result(id, "startup");
  liveness = (id: string): ProbeResult | undefined => this.#result(id, "liveness");

  isStarted(id: string, { startupProbe }: AnyContainer): boolean {
    if (!startupProbe) return true;
    const watched = this.#watched.get(id);
    return watched?.known?.started === true || this.#result(id, "startup") === "success";
  }

  isReady(id: string, { readinessProbe }: AnyContainer): boolean {
    return !readinessProbe || this.#result(id, "readiness") === "success";
  }

  #result(id: string, kind: ProbeKind): ProbeResult | undefined {
    return this.#watched.get(id)?.series.get(kind)?.verdict.result;
  }

  #beginOthers(watched: Watched): void {
    const { livenessProbe, readinessProbe } = watched.container;
    if (livenessProbe) this.#begin(watched, "liveness", livenessProbe);
    if (readinessProbe) this.#begin(watched, "readiness", readinessProbe);
  }

  #begin(watched: Watched, kind: ProbeKind, probe: Probe): void {
    const first = firstVerdict(kind);
    const wasReady = kind === "readiness" && watched.known?.ready;
    const verdict: Verdict = wasReady ? { ...first, result: "success" } : first;
    const series: Series = { kind, probe, stop: new AbortController(), verdict };
    watched.series.set(kind, series);
    const firstAt = watched.startedAt + (probe.initialDelaySeconds ?? 0) * 1000;
    this.#schedule(watched, series, Math.max(firstAt, this.#deps.clock.now()));
  }

  #schedule(watched: Watched, series: Series, atMs: number, early = earlyRetryMs): void {
    const { clock } = this.#deps;
    const { signal } = series.stop;
    if (signal.aborted) return;
    const go = () => {
      signal.removeEventListener("abort", cancel);
      void this.#checkOnce(watched, series, { atMs, early });
    };
    const delayMs = atMs - clock.now();
    // A due check runs now, not in another timer turn.
    const cancel = delayMs > 0 ? clock.after(delayMs, go) : () => {};
    signal.addEventListener("abort", cancel, { once: true });
    if (delayMs <= 0) go();
  }

  async #checkOnce(watched: Watched, series: Series, { atMs, early }: { atMs: number; early: number }): Promise<void> {
    const { kind, probe, stop } = series;
    const outcome = await this.#deps.check(watched.id, { kind, probe }, stop.signal).catch(messageOf);
    if (stop.signal.aborted) return;
    this.#count(watched.container.name, kind, outcome);
    const before = series.verdict;
    if (typeof outcome !== "string") {
      series.verdict = judge(before, outcome.result === "failure" ? "failure" : "success", probe);
    }
    const periodMs = probe.periodSeconds * 1000;
    const isEarly = mayRetryEarly(series) && early < periodMs;
    if (!isEarly) this.#recordEvent(watched, series, outcome);
    const { result } = series.verdict;
    const isOver = typeof outcome !== "string" && endsSeries(kind, result);
    const now = this.#deps.clock.now();
    if (isEarly) this.#schedule(watched, series, now + early, early * 2);
    // Checks that took longer than the period are not caught up.
    else if (!isOver) this.#schedule(watched, series, Math.max(atMs + periodMs, now), early);
    if (kind === "startup" && result === "success" && before.result !== "success") this.#beginOthers(watched);
    if (result !== before.result) this.#deps.changed();
  }

  #count(container: string, kind: ProbeKind, outcome: ProbeOutcome | string): void {
    const result = typeof outcome === "string" ? "unknown" : outcome.result === "failure" ? "failed" : "successful";
    const key = `${container} ${kind} ${result}`;
    const count = (this.#counts.get(key)?.count ?? 0) + 1;
    this.#counts.set(key, { container, probe: titles[kind], result, count });
  }

  #recordEvent({ container }: Watched, { kind }: Series, outcome: ProbeOutcome | string): void {
    const title = titles[kind];
    if (typeof outcome === "string") {
      const message = `${title} probe errored and resulted in unknown state: ${outcome}`;
      this.#deps.recordEvent(container.name, "Unhealthy", message);
    } else if (outcome.result === "failure") {
      this.#deps.recordEvent(container.name, "Unhealthy", `${title} probe failed: ${outcome.output}`);
    } else if (outcome.result === "warning") {
      this.#deps.recordEvent(container.name, "ProbeWarning", `${title} probe warning: ${outcome.output}`);
    }
  }
}

/** A container that must be killed, or has started, is not probed again. */
const endsSeries = (kind: ProbeKind, result: ProbeResult): boolean =>
  (kind === "startup" && result !== "unknown") || (kind === "liveness" && result === "failure");

/** A server needs a moment to listen. Until its first answer, early checks cost little and save a whole period. */
const mayRetryEarly = ({ kind, probe, verdict }: Series): boolean =>
  kind === "readiness" &&
  !probe.exec &&
  verdict.last === "failure" &&
  verdict.run < maxEarlyRuns &&
  verdict.result === "failure";
const maxEarlyRuns = 8;
