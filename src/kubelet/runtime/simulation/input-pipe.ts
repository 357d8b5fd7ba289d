import { Channel } from "#lib/async/channel.ts";

const maxUnreadBytes = 64 << 10;

/** Input on its way to one reader. `push` waits while much of it is unread, until the signal fires. */
export class InputPipe implements AsyncIterable<Uint8Array> {
  readonly #chunks = new Channel<Uint8Array>();
  readonly #signal: AbortSignal;
  #unread = 0;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
  }

  async push(chunk: Uint8Array): Promise<void> {
    this.#unread += chunk.length;
    this.#chunks.push(chunk);
    while (this.#unread > maxUnreadBytes && !this.#signal.aborted && !this.#chunks.closed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  end(): void {
    this.#chunks.close();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#chunks) {
      this.#unread -= chunk.length;
      this.#wake?.();
      yield chunk;
    }
  }
}
