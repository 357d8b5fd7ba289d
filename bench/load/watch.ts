import { Connections, json } from "../lib/connections.ts";
import { inFlight } from "../lib/in-flight.ts";
import { configMap } from "../lib/objects.ts";
import { revisionOf, type Scenario, type Target } from "./scenario.ts";

const written = 200;
const connectionsOfWatchers = 8;

/** A few writers and many watchers. Events are counted as they arrive; the cost includes the writes. */
export const watch: Scenario = {
  name: "watch",
  unit: "events",

  async prepare(target) {
    const connections = new Connections(target.server, connectionsOfWatchers);
    const path = configMapsOf(target);
    const from = await revisionOf(target.connections, path);
    const counter = new LineCounter();
    for (let n = 0; n < target.watchers; n++) {
      connections.follow(`${path}?watch=1&resourceVersion=${from}`, (chunk) => counter.add(chunk));
    }
    // An answer on each connection shows that the watches before it have started.
    for (let n = 0; n < connectionsOfWatchers; n++) await connections.call({ method: "GET", path: `${path}?limit=1` });
    running.set(target, { connections, counter });
  },

  async run(target) {
    const { connections, counter } = running.get(target) ?? { connections: undefined, counter: new LineCounter() };
    const count = target.watchers * written;
    const path = configMapsOf(target);
    await inFlight({ count: written, width: 4 }, (n) =>
      target.connections.call({ method: "POST", path, body: json(configMap(`w-${n}`)) }),
    );
    await counter.reached(count);
    connections?.[Symbol.dispose]();
    return { count };
  },
};

const running = new WeakMap<Target, { connections: Connections; counter: LineCounter }>();
const configMapsOf = ({ namespace }: Target): string => `/api/v1/namespaces/${namespace}/configmaps`;

/** Counts events, each of which is a line. */
class LineCounter {
  #lines = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #resolve: (() => void) | undefined;

  add(chunk: Buffer): void {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) this.#lines++;
    if (this.#lines >= this.#wanted) this.#resolve?.();
  }
  reached(wanted: number): Promise<void> {
    this.#wanted = wanted;
    return this.#lines >= wanted ? Promise.resolve() : new Promise((resolve) => (this.#resolve = resolve));
  }
}
