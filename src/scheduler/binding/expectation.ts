import { Pod } from "#api/core/pod.ts";
import { type Client } from "#client/client.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { keyOf } from "../pod-key.ts";
import { clearNominations } from "../preemption/preempt.ts";

interface ExpectationDeps {
  readonly client: Client;
  readonly log: Log;
}

/** The node that a pod is expected to get, in its status, while that takes time. An autoscaler looks at it. */
export class Expectation {
  readonly node: string;
  readonly #deps: ExpectationDeps;
  readonly #pod: Pod;
  readonly #signal: AbortSignal;
  #noting: Promise<void> | undefined;

  constructor(
    deps: ExpectationDeps,
    pod: Pod,
    { node, signal }: { readonly node: string; readonly signal: AbortSignal },
  ) {
    this.#deps = deps;
    this.#pod = pod;
    this.node = node;
    this.#signal = signal;
  }

  /** Whether it was noted, or may have been. */
  get isNoted(): boolean {
    return this.#noting !== undefined;
  }

  /** Once for each pod. The pod is bound even if this fails. */
  async note(): Promise<void> {
    if (this.#pod.status?.nominatedNodeName === this.node) return;
    this.#noting ??= this.#note();
    await this.#noting;
  }

  async #note(): Promise<void> {
    const body = { metadata: { uid: this.#pod.metadata.uid }, status: { nominatedNodeName: this.node } };
    const options = { subresource: "status", signal: this.#signal } as const;
    await this.#write(() => this.#deps.client.patch(Pod, this.#pod, { type: "strategic", body }, options));
  }

  /** The pod does not get the node. */
  async takeBack(): Promise<void> {
    if (!this.#noting) return;
    await this.#noting;
    await this.#write(() => clearNominations(this.#deps, [this.#pod], this.#signal));
  }

  async #write(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (isAbort(error, this.#signal)) return;
      this.#deps.log.warn("could not note the expected node of a pod", { pod: keyOf(this.#pod), error });
    }
  }
}
