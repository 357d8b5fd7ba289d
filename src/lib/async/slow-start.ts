/**
 * Runs the action `count` times in batches that double: 1, 2, 4 … A batch with a failure is the last one, and its first
 * error is thrown once the batch has ended. So a full quota costs one refused request, not five hundred.
 */
export async function slowStart(count: number, action: (index: number) => Promise<unknown>): Promise<void> {
  let done = 0;
  for (let batch = 1; done < count; batch *= 2) {
    const size = Math.min(batch, count - done);
    const results = await Promise.allSettled(Array.from({ length: size }, (_, at) => action(done + at)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
    done += size;
  }
}
