import { UserError } from "../command.ts";

export const flags = {};

/** The launcher itself runs files, so nobody gets here who has named one. */
export async function run(): Promise<number> {
  throw new UserError("say which file: orlop run FILE [args]");
}
