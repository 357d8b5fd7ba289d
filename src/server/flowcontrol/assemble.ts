import { type UserInfo } from "#api/exchange.ts";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Patience } from "#lib/async/patience.ts";
import { realQueueMicrotask } from "#lib/async/real-timers.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { BodyTurns } from "./body-turns.ts";
import { FlowControl } from "./flow-control.ts";
import { FlowMetrics } from "./flow-metrics.ts";
import { MaxInFlight } from "./max-in-flight.ts";
import { bodyPatienceMs, type FairnessDeps } from "./share-fairly.ts";
import { WatchCounts } from "./watch-counts.ts";

export interface InFlightOptions {
  /** Reads at the same time; with priority and fairness, the seats are the sum of both. */
  readonly reads: number;
  readonly writes: number;
  /** Priority and fairness; otherwise the two limits alone. */
  readonly isFair: boolean;
  readonly requestTimeoutMs: number;
}
export const defaultInFlight: InFlightOptions = { reads: 400, writes: 200, isFair: true, requestTimeoutMs: 60_000 };

/** The size of what is not stored. */
const nothing = { objects: 0, bytes: 0 };

export interface AssembleDeps {
  readonly clock: Clock;
  readonly objects: Objects;
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
  readonly metrics: Metrics;
  readonly loopback: UserInfo;
}

export interface Fairness {
  readonly flowControl: FlowControl | undefined;
  readonly fairness: FairnessDeps;
}

export function assembleFairness(options: InFlightOptions, deps: AssembleDeps): Fairness {
  const { reads, writes, isFair, requestTimeoutMs } = options;
  const { clock, objects, resources, loopback } = deps;
  const watches = new WatchCounts();
  const bodies = new Patience(clock, bodyPatienceMs);
  const bodyTurns = new BodyTurns();
  if (!isFair) {
    const gate = new MaxInFlight({ reads, writes });
    return { flowControl: undefined, fairness: { gate, watches, bodies, bodyTurns } };
  }
  const metrics = new FlowMetrics(deps.metrics);
  const flowControl = new FlowControl({
    clock,
    seats: reads + writes,
    loopback,
    metrics,
    maxWaitMs: requestTimeoutMs / 4,
    estimate: {
      find: (group, version, plural) => resources.find(group, version, plural),
      sizeOf: (resource) => (resource.isComputed ? nothing : objects.cacheOf(resource).size),
      watchersOf: (info) => watches.interestedIn(info),
    },
  });
  metrics.show(flowControl);
  follow(flowControl, deps.informers);
  return { flowControl, fairness: { gate: flowControl, watches, bodies, bodyTurns } };
}

/** Takes over every change of the configuration, once for all changes that come together. */
function follow(control: FlowControl, informers: Informers): void {
  const levels = informers.of(PriorityLevelConfiguration);
  const schemas = informers.of(FlowSchema);
  let isDue = false;
  const changed = (): void => {
    if (isDue) return;
    isDue = true;
    realQueueMicrotask(() => {
      isDue = false;
      control.configure(levels.list(), schemas.list());
    });
  };
  levels.subscribe(changed);
  schemas.subscribe(changed);
}
