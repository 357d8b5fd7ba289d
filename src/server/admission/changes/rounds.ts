import { type ApiObject } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { cloneJson } from "#lib/text/json.ts";
import { type AdmissionRequest, type SecondRound } from "../plugin.ts";

/** What happened so far to each request that is under way, for one plugin. */
export class RequestRounds implements SecondRound {
  readonly #byRequest = new WeakMap<AdmissionRequest, Rounds>();

  of(request: AdmissionRequest): Rounds {
    let rounds = this.#byRequest.get(request);
    if (!rounds) {
      rounds = new Rounds();
      this.#byRequest.set(request, rounds);
    }
    return rounds;
  }
  isNeeded(request: AdmissionRequest): boolean {
    return this.#byRequest.get(request)?.hasChanged ?? false;
  }
  start(request: AdmissionRequest): void {
    this.of(request).startSecond();
  }
}

/**
 * What happened to one request so far. After a webhook or a policy has changed the object, all plugins look at it once
 * more, and so do the webhooks and policies before it that want to.
 */
export class Rounds {
  #isSecond = false;
  #hasChanged = false;
  /** Those that want to know of changes after their turn. */
  readonly #waiting = new Set<string>();
  readonly #again = new Set<string>();
  #lastObject: unknown;

  get isSecond(): boolean {
    return this.#isSecond;
  }
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  startSecond(): void {
    this.#isSecond = true;
  }

  /** At the start of a round: other plugins may have changed the object since the last one. */
  begin(object: ApiObject | undefined): void {
    if (this.#isSecond && this.#waiting.size > 0 && !equal(object, this.#lastObject)) this.repeatWaiting();
  }
  end(object: ApiObject | undefined): void {
    if (!this.#isSecond && this.#waiting.size > 0) this.#lastObject = object && cloneJson(object);
  }

  /** In the second round, only those that had a turn in the first one are asked, if there is a reason. */
  calls(id: string): boolean {
    return !this.#isSecond || this.#again.has(id);
  }
  called(id: string, { hasChanged, wantsAgain }: { readonly hasChanged: boolean; readonly wantsAgain: boolean }): void {
    if (hasChanged) {
      this.#hasChanged = true;
      this.repeatWaiting();
    }
    if (wantsAgain) this.#waiting.add(id);
  }

  /** All that had a turn so far and want to know of changes get another one in the second round. */
  repeatWaiting(): void {
    for (const id of this.#waiting) this.#again.add(id);
    this.#waiting.clear();
  }
}
