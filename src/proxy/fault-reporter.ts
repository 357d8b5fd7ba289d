import { type ApiObject, type Resource } from "#api/resource.ts";
import { type EventRecorder, referenceTo } from "#client/events.ts";
import { LruMap } from "#lib/data/lru-map.ts";

const remembered = 10_000;
const maxMessage = 900;

/** Reports by events which parts of an object this node ignores. Repeats nothing. */
export class FaultReporter {
  readonly #events: EventRecorder | undefined;
  readonly #reported = new LruMap<string, string>(remembered);

  constructor(events: EventRecorder | undefined) {
    this.#events = events;
  }

  report(resource: Resource, object: ApiObject, faults: readonly string[]): void {
    const { namespace = "", name = "", uid = "" } = object.metadata;
    const key = `${resource.kind} ${namespace}/${name} ${uid}`;
    const message = faults.join("; ").slice(0, maxMessage);
    const before = this.#reported.get(key) ?? "";
    if (before === message) return;
    this.#reported.set(key, message);
    const about = referenceTo(resource, object);
    // `orlop why` looks for these reasons.
    if (message) this.#events?.event(about, "Warning", "NetworkRuleIgnored", message);
    else this.#events?.event(about, "Normal", "NetworkRulesInPlace", "no part of it is ignored any more");
  }
}
