/** A call that waits until the test decides its result. */
export interface HeldCall {
  readonly name: string;
  /** Carries the call out, and answers. */
  pass(): Promise<void>;
  /** Carries the call out, but the caller gets an error: the answer was lost. */
  passUnanswered(): Promise<void>;
  /** Fails without carrying the call out. */
  fail(): Promise<void>;
}

interface Guarded<T> {
  readonly what: string;
  readonly names: readonly (keyof T & string)[];
  about?(argument: unknown): string;
}

/** Holds calls back. The test decides their results and their order. */
export class Gate {
  readonly held: HeldCall[] = [];
  #isShut = false;

  /** The caller has died: its calls get no answers any more, and its later calls have no effect. */
  shut(): readonly HeldCall[] {
    this.#isShut = true;
    return this.held.splice(0);
  }

  call<T>(name: string, effect: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#isShut) return promise;
    const answer = (give: () => void) => {
      if (!this.#isShut) give();
    };
    const lost = () => answer(() => reject(new Error(`${name} failed, as the test wants`)));
    const done = (): void => {
      const at = this.held.indexOf(call);
      if (at >= 0) this.held.splice(at, 1);
    };
    const call: HeldCall = {
      name,
      pass: async () => {
        done();
        try {
          const result = await effect();
          answer(() => resolve(result));
        } catch (error) {
          answer(() => reject(error));
        }
      },
      passUnanswered: async () => {
        done();
        await effect().catch(() => {});
        lost();
      },
      fail: async () => {
        done();
        lost();
      },
    };
    this.held.push(call);
    return promise;
  }

  /** The same object, with some of its methods held back; `about` returns the subject of a call. */
  guard<T extends object>(target: T, { what, names, about = () => "" }: Guarded<T>): T {
    const held = new Set<string>(names);
    return new Proxy(target, {
      get: (object, key) => {
        const value: unknown = Reflect.get(object, key, object);
        if (typeof value !== "function") return value;
        if (typeof key !== "string" || !held.has(key)) return value.bind(object);
        return (...args: unknown[]) => {
          const name = `${what}.${key} ${about(args[0])}`.trimEnd();
          return this.call(name, async () => await value.apply(object, args));
        };
      },
    });
  }
}
