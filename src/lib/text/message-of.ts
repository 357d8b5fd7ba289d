/** The text of whatever was thrown. Connections to hosts with several addresses fail with several errors and no text. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
