import { StatusError } from "#api/status.ts";

/** A StatusError is a plugin's answer to the client; any other error means that the plugin is broken. */
export const refusalOrFault = (error: unknown): "refusal" | "fault" =>
  error instanceof StatusError ? "refusal" : "fault";
