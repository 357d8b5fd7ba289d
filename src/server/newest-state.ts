import { type Store, StoreCutOffError } from "#store/store.ts";
import { statusOf } from "./objects/store-terms.ts";

/** Waits until the caches show everything that any server has confirmed. */
export class NewestState {
  readonly #store: Pick<Store, "catchUp">;
  #isCutOff = false;

  constructor(store: Pick<Store, "catchUp">) {
    this.#store = store;
  }

  /** undefined if the caches always do, because only this server writes to the store. */
  reached(): Promise<void> | undefined {
    return this.#store.catchUp()?.catch((error: unknown) => {
      throw statusOf(error);
    });
  }

  /**
   * For a read, which goes on when the store cannot be asked: true if the caches may be behind for that reason. As long
   * as that lasts, only the first read waits.
   */
  reachedIfPossible(): boolean | Promise<boolean> {
    const caughtUp = this.#store.catchUp();
    if (!caughtUp) return false;
    const isBehind = caughtUp.then(
      () => this.#is(false),
      (error: unknown) => {
        if (!(error instanceof StoreCutOffError)) throw statusOf(error);
        return this.#is(true);
      },
    );
    if (!this.#isCutOff) return isBehind;
    // Its outcome is for the reads that come later.
    isBehind.catch(() => {});
    return true;
  }

  #is(cutOff: boolean): boolean {
    this.#isCutOff = cutOff;
    return cutOff;
  }
}
