import { type Command, type Flag, type Flags } from "./command.ts";

type Commands = Readonly<Record<string, Command>>;

/** The text of `orlop help`. */
export function renderUsage(commands: Commands): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return `usage: orlop COMMAND [flags]\n\n${table(rows)}\n\n\`orlop COMMAND --help\` shows the command's flags.\n`;
}

/** The text of `orlop help COMMAND`. */
export function renderHelp(name: string, { summary, takes }: Command, flags: Flags): string {
  const rows = Object.entries(flags).map(([flag, described]) => [spell(flag, described), explain(described)] as const);
  const usage = ["usage: orlop", name, takes, rows.length > 0 ? "[flags]" : undefined].filter(Boolean).join(" ");
  return [usage, summary, ...(rows.length > 0 ? [table(rows)] : [])].join("\n\n").concat("\n");
}

/** Whether the arguments ask for help. After `--`, no word is a flag. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).some((word) => word === "--help" || word === "-h");
}

const spell = (name: string, { short, value }: Flag): string =>
  `${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`;

const explain = ({ help, default: preset }: Flag): string =>
  typeof preset === "string" && preset !== "" ? `${help} (default ${preset})` : help;

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join("\n");
}
