import { UserError } from "../command.ts";

export const flags = {};

/** The launcher runs a named file itself, so this is reached only without one. */
export async function run(): Promise<number> {
  throw new UserError("name a file to run: orlop run FILE [args]");
}
