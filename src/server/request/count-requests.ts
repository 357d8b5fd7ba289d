import { type Answer as MadeAnswer } from "#api/exchange.ts";
import { type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type ResourceRegistry } from "../registry.ts";
import { type Answer, type Context, type RequestInfo, type Stage } from "./pipeline.ts";

const labels = ["verb", "group", "version", "resource", "subresource"];
const seconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

interface CountDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly resources: ResourceRegistry;
}

/** Counts requests by verb, resource and response code, and measures how long they took. */
export function countRequests({ metrics, clock, resources }: CountDeps): Stage {
  const metersOf = createMeters(metrics, resources);
  return (context, next) => {
    const { count, observe } = metersOf(context.info);
    const start = clock.now();
    const counted = <A extends MadeAnswer>(answer: A): A => {
      count("status" in answer ? answer.status : 200);
      observe((clock.now() - start) / 1000);
      return answer;
    };
    const fail = (error: unknown): never => {
      count(error instanceof StatusError ? error.code : 500);
      observe((clock.now() - start) / 1000);
      throw error;
    };
    // Only when the past is read does it turn out whether the store still has it.
    const pass = (answer: Answer): Answer =>
      answer.type === "deferred" ? { ...answer, read: () => answer.read().then(counted, fail) } : counted(answer);
    let answer: Answer | Promise<Answer>;
    try {
      answer = next(context);
    } catch (error) {
      return fail(error);
    }
    return answer instanceof Promise ? answer.then(pass, fail) : pass(answer);
  };
}

/** The meters of requests with the same verb, resource and subresource. */
interface Meters {
  count(code: number): void;
  observe(seconds: number): void;
}

/** Meters are looked up once for each kind of request, because putting their names together costs more than counting. */
function createMeters(metrics: Metrics, resources: ResourceRegistry): (info: Context["info"]) => Meters {
  const total = metrics.counter("apiserver_request_total", "Requests by verb, resource and response code.", [
    ...labels,
    "code",
  ]);
  const help = "How long requests took.";
  const duration = metrics.histogram("apiserver_request_duration_seconds", help, { labels, buckets: seconds });
  const make = (verb: string, values: readonly string[]): Meters => {
    const byCode = new Map<number, () => void>();
    const addTo = (code: number): (() => void) => {
      const add = total.of([...values, String(code)]);
      byCode.set(code, add);
      return add;
    };
    // A watch takes as long as its client wants.
    const observe = verb === "watch" ? () => {} : duration.of(values);
    return { count: (code) => (byCode.get(code) ?? addTo(code))(), observe };
  };
  const ofResource = new WeakMap<Resource, Map<string, Meters>>();
  const ofOthers = new Map<string, Meters>();
  return (info) => {
    const { verb, group, version, resource, subresource } = info;
    const served = servedAs(info, resources);
    const shown = verbsCounted.get(verb) ?? "OTHER";
    const known = served ? entryOf(ofResource, served) : ofOthers;
    const key = served && subresource ? `${shown} ${subresource}` : shown;
    let meters = known.get(key);
    if (!meters) {
      meters = make(verb, served ? [shown, group, version, resource, subresource] : [shown, "", "", "", ""]);
      known.set(key, meters);
    }
    return meters;
  };
}

function entryOf<V>(byResource: WeakMap<Resource, Map<string, V>>, resource: Resource): Map<string, V> {
  let entry = byResource.get(resource);
  if (!entry) {
    entry = new Map();
    byResource.set(resource, entry);
  }
  return entry;
}

/** Only served resources have their own metrics: otherwise clients could fill the memory with names. */
function servedAs(
  { group, version, resource, subresource }: RequestInfo,
  resources: ResourceRegistry,
): Resource | undefined {
  const known = resources.find(group, version, resource);
  return !subresource || known?.subresources.some(({ name }) => name === subresource) ? known : undefined;
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const verbsCounted = new Map(verbs.map((verb) => [verb, verb.toUpperCase()]));
