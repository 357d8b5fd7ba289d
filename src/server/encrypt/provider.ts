/** Encrypts the values of some kinds, and reads what it has encrypted before. */
export interface Provider {
  /** What its stored values start with, such as `k8s:enc:aesgcm:v1:`; "" for values that are not encrypted. */
  readonly prefix: Buffer;
  /** The bytes after the prefix. `place` is the key in the store: a value that is moved elsewhere cannot be opened. */
  seal(plain: Uint8Array, place: Buffer): Uint8Array;
  /** Throws if the bytes were changed, or encrypted with another key or for another place. */
  open(sealed: Uint8Array, place: Buffer): Uint8Array | Promise<Uint8Array>;
  /** The bytes would be written differently today: with another key. */
  isStale(sealed: Uint8Array): boolean;
  /** Called before values are sealed. Throws if that is not possible for now. */
  checkSeal?(): void;
}

/** Counts what is done with values. */
export type CountTransformation = (
  type: "from_storage" | "to_storage",
  outcome: { readonly prefix: string; readonly status: "OK" | "failure" },
) => void;

/** How the values of one kind are stored: the first provider writes, and every one reads what is its own. */
export class Transformer {
  readonly #providers: readonly Provider[];
  readonly #first: Provider;
  readonly #count: CountTransformation;

  constructor(providers: readonly Provider[], count: CountTransformation = () => {}) {
    const [first] = providers;
    if (!first) throw new Error("a transformer needs a provider");
    this.#providers = providers;
    this.#first = first;
    this.#count = count;
  }

  checkSeal(): void {
    this.#first.checkSeal?.();
  }

  seal(plain: Uint8Array, place: string): Uint8Array {
    const { prefix } = this.#first;
    const sealed = this.#first.seal(plain, Buffer.from(place));
    this.#counted("to_storage", this.#first, "OK");
    if (prefix.length === 0) return sealed;
    // Kept for long, so it has its own memory.
    const stored = Buffer.allocUnsafeSlow(prefix.length + sealed.length);
    stored.set(prefix);
    stored.set(sealed, prefix.length);
    return stored;
  }

  /** Two providers may have the same prefix, so a failure of one does not end the search. */
  open(stored: Uint8Array, place: string): Uint8Array | Promise<Uint8Array> {
    return this.#openFrom(0, { stored, place: Buffer.from(place), faults: [] });
  }

  #openFrom(first: number, value: Stored): Uint8Array | Promise<Uint8Array> {
    for (let at = first; at < this.#providers.length; at++) {
      const provider = this.#providers[at];
      if (!provider || !startsWith(value.stored, provider.prefix)) continue;
      const failed = (error: unknown): void => {
        // Plain text comes last: that a value is encrypted says nothing about why it cannot be read.
        if (provider.prefix.length === 0) return;
        value.faults.push(error);
        this.#counted("from_storage", provider, "failure");
      };
      try {
        const opened = provider.open(value.stored.subarray(provider.prefix.length), value.place);
        if (!(opened instanceof Promise)) return this.#openedBy(provider, opened);
        return opened.then(
          (plain) => this.#openedBy(provider, plain),
          (error: unknown) => {
            failed(error);
            return this.#openFrom(at + 1, value);
          },
        );
      } catch (error) {
        failed(error);
      }
    }
    throw value.faults.length > 1 ? joined(value.faults) : (value.faults[0] ?? new Error("no matching prefix found"));
  }

  #openedBy(provider: Provider, plain: Uint8Array): Uint8Array {
    this.#counted("from_storage", provider, "OK");
    return plain;
  }

  #counted(type: "from_storage" | "to_storage", { prefix }: Provider, status: "OK" | "failure"): void {
    this.#count(type, { prefix: prefix.length > 0 ? prefix.toString() : "identity", status });
  }

  isStale(stored: Uint8Array): boolean {
    const { prefix } = this.#first;
    if (!startsWith(stored, prefix)) return true;
    return this.#first.isStale(prefix.length === 0 ? stored : stored.subarray(prefix.length));
  }
}

interface Stored {
  readonly stored: Uint8Array;
  readonly place: Buffer;
  readonly faults: unknown[];
}

/** As Go joins them. */
const joined = (faults: readonly unknown[]): Error => {
  const messages = [...new Set(faults.map((fault) => (fault instanceof Error ? fault.message : String(fault))))];
  return new Error(messages.length === 1 ? messages[0] : `[${messages.join(", ")}]`);
};

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false;
  return true;
}
