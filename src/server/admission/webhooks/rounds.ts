import { type ApiObject } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { cloneJson } from "#lib/text/json.ts";

/**
 * What happened to one request so far. After a webhook has changed the object, all plugins look at it once more, and so
 * do the webhooks before it that want to.
 */
export class Rounds {
  #isSecond = false;
  #hasChanged = false;
  /** Webhooks that want to know of changes after their call. */
  readonly #waiting = new Set<string>();
  readonly #again = new Set<string>();
  #lastObject: unknown;

  get isSecond(): boolean {
    return this.#isSecond;
  }

  startSecond(): boolean {
    if (this.#isSecond || !this.#hasChanged) return false;
    this.#isSecond = true;
    return true;
  }

  /** At the start of a round: other plugins may have changed the object since the last one. */
  begin(object: ApiObject | undefined): void {
    if (this.#isSecond && !equal(object, this.#lastObject)) this.#repeatWaiting();
  }
  end(object: ApiObject | undefined): void {
    if (!this.#isSecond && this.#hasChanged) this.#lastObject = object && cloneJson(object);
  }

  /** In the second round, only webhooks that were called in the first one are called, if there is a reason. */
  calls(hook: string): boolean {
    return !this.#isSecond || this.#again.has(hook);
  }
  called(
    hook: string,
    { hasChanged, wantsAgain }: { readonly hasChanged: boolean; readonly wantsAgain: boolean },
  ): void {
    if (hasChanged) {
      this.#hasChanged = true;
      this.#repeatWaiting();
    }
    if (wantsAgain) this.#waiting.add(hook);
  }

  #repeatWaiting(): void {
    for (const hook of this.#waiting) this.#again.add(hook);
    this.#waiting.clear();
  }
}
