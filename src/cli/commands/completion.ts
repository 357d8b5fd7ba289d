import { type Flags, parseFlags, UserError } from "../command.ts";
import { type CommandFlags, renderCompletion, shells } from "../print/completion.ts";

export const flags = {} as const;

/** Prints a script for a shell: `source <(orlop completion bash)`. */
export async function run(args: readonly string[]): Promise<number> {
  const { positionals } = parseFlags(args, flags);
  const [name = ""] = positionals;
  const shell = shells.find((one) => one === name);
  if (!shell || positionals.length > 1) {
    throw new UserError(`name a shell: orlop completion ${shells.join("|")}`);
  }
  // Imported here, because main.ts imports this file.
  const { commands } = await import("../main.ts");
  const described = await Promise.all(
    Object.entries(commands).map(async ([command, { summary, load }]): Promise<CommandFlags> => {
      const loaded: Flags = (await load()).flags;
      return { command, summary, flags: Object.entries(loaded).map(([flag, { help }]) => ({ flag, help })) };
    }),
  );
  process.stdout.write(renderCompletion(shell, described));
  return 0;
}
