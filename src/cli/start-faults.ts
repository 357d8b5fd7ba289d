import { UserError } from "./command.ts";

/** What goes wrong when a server starts, in words that say what to do. */
export function explainStart(error: unknown, { port }: { readonly port: string | number }): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error ? error.code : undefined;
  const taken = "port" in error && typeof error.port === "number" ? error.port : port;
  if (code === "EADDRINUSE")
    return new UserError(`port ${taken} is in use: stop what listens there or choose another with --port`);
  if (code === "EACCES")
    return new UserError(`not allowed to listen on port ${taken}: choose one above 1023 with --port, or run as root`);
  if (code === "ENOSPC") return new UserError("no space left on the disk: free some space and start again");
  return error;
}
