/**
 * The message of any thrown value. A connection to a host with several addresses fails with several errors and no
 * message.
 */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
