export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs `count` operations, always `width` of them concurrently, and measures how long they take. */
export async function inFlight(
  { count, width }: { count: number; width: number },
  operation: (index: number) => Promise<unknown>,
): Promise<Latencies> {
  const taken = new Float64Array(count);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const start = performance.now();
      await operation(index);
      taken[index] = performance.now() - start;
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  taken.sort();
  return { p50Ms: taken[count >> 1] ?? 0, p99Ms: taken[Math.floor(count * 0.99)] ?? 0 };
}
