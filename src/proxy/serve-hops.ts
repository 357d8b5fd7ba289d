import { type Span, type TraceRecorder } from "#trace/recorder.ts";
import { parseTraceparent } from "#trace/trace.ts";

/** Records, in the trace of a change, that a service leads to its pods. A hop ends when the kernel has the rules. */
export class ServeHops {
  readonly #recorder: TraceRecorder | undefined;
  /** Open hops by service and trace. */
  readonly #spans = new Map<string, Span>();
  #applying: Span[] = [];

  constructor(recorder: TraceRecorder | undefined) {
    this.#recorder = recorder;
  }

  /** Something about the service has changed, by this trace. */
  begin(key: string, trace: string | undefined): void {
    const parent = parseTraceparent(trace);
    if (!parent || !this.#recorder || this.#spans.has(`${key} ${parent.traceId}`)) return;
    const [namespace = "", name = ""] = key.split("/");
    const object = { resource: "services", namespace, name };
    const span = this.#recorder.startSpan({ hop: "serve", component: "proxy", object, parent });
    this.#spans.set(`${key} ${parent.traceId}`, span);
  }

  /** The rules of these services have changed. A change without an effect here is not a hop of any trace. */
  planned(changed: ReadonlySet<string>): void {
    for (const [id, span] of this.#spans) if (changed.has(id.split(" ")[0] ?? "")) this.#applying.push(span);
    this.#spans.clear();
  }

  /** The kernel has the rules of everything that was planned. */
  applied(table: string): void {
    for (const span of this.#applying) span.end({ facts: { table } });
    this.#applying = [];
  }
}
