/**
 * Passes events on when `ready` resolves for them. An event that needs no wait is not held up by one that does. Fails when
 * the source or a `ready` fails. `stop` must end the source, which may be waiting when the reader stops.
 */
export async function* mergeEvents<In, Out>(
  source: AsyncGenerator<In, void>,
  ready: (event: In) => Promise<Out>,
  stop: () => void,
): AsyncGenerator<Out, void> {
  type Step = { key: symbol; next?: IteratorResult<In, void>; event?: Out };
  const pending = new Map<symbol, Promise<Step>>();
  const pull = () => {
    const key = Symbol();
    pending.set(
      key,
      source.next().then((next) => ({ key, next })),
    );
  };
  pull();
  try {
    while (pending.size > 0) {
      const { key, next, event } = await Promise.race(pending.values());
      pending.delete(key);
      if (event !== undefined) yield event;
      if (next === undefined || next.done) continue;
      const waiting = Symbol();
      pending.set(
        waiting,
        ready(next.value).then((event) => ({ key: waiting, event })),
      );
      pull();
    }
  } finally {
    stop();
    await Promise.allSettled(pending.values());
  }
}
