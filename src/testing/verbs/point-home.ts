/**
 * Adds the caller's own lines to the stack of an error that came out of the cluster, where the runtime could not: the
 * error may have been made by a component that nobody awaits.
 */
export async function pointHome<T>(work: () => Promise<T>, from: (...args: never[]) => unknown): Promise<T> {
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, from);
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) error.stack = withHome(error.stack ?? String(error), here.stack ?? "");
    throw error;
  }
}

function withHome(stack: string, here: string): string {
  const lines = here.split("\n").slice(1);
  const place = lines[0] === undefined ? undefined : /\(?((?:file:)?[^()\s]+:\d+:\d+)\)?$/.exec(lines[0])?.[1];
  return place === undefined || stack.includes(place) ? stack : [stack, ...lines].join("\n");
}
