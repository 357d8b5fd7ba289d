import { readFile, writeFile } from "node:fs/promises";
import { type Log } from "#lib/log.ts";
import { CommandError, runCommand } from "#lib/processes.ts";
import { type RuleTable } from "./rule-table.ts";

/** The machine whose rules these are; a test gives a network namespace. */
export interface Host {
  /** Runs a command to its end and resolves with what it wrote. */
  run(command: string, args: readonly string[], input?: string): Promise<string>;
  /** A kernel setting, by its path below /proc/sys; undefined if the kernel does not have it. */
  readSetting(path: string): Promise<string | undefined>;
  writeSetting(path: string, value: string): Promise<void>;
}

export const thisHost: Host = {
  async run(command, args, input) {
    return (await runCommand(command, args, { input })).stdout;
  },
  async readSetting(path) {
    try {
      return (await readFile(`/proc/sys/${path}`, "utf8")).trim();
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  },
  writeSetting: (path, value) => writeFile(`/proc/sys/${path}`, value),
};

/**
 * Brings the kernel to what the table says, in one transaction: all of it or nothing. If the kernel refuses a
 * difference, because somebody else changed the table, it gets the whole table instead. Resolves with what was sent.
 */
export async function applyRules(host: Host, table: RuleTable, log: Log): Promise<string> {
  const text = table.takeChanges();
  if (text === "") return "";
  try {
    await sendRules(host, text);
    return text;
  } catch (error) {
    log.warn("a change of rules was refused, so all are sent again", { error });
    table.forget();
  }
  const whole = table.takeChanges();
  try {
    await sendRules(host, whole);
    return whole;
  } catch (error) {
    table.forget();
    throw error;
  }
}

async function sendRules(host: Host, text: string): Promise<void> {
  try {
    await host.run("nft", ["-f", "-"], text);
  } catch (error) {
    throw new Error(`nft refused ${text.split("\n").length - 1} lines: ${firstComplaint(error)}`, { cause: error });
  }
}

/** nft shows each line that it does not like, and a refused transaction can have thousands. */
function firstComplaint(error: unknown): string {
  if (!(error instanceof CommandError)) return String(error);
  return error.message.split("\n").slice(0, 3).join(" ").slice(0, 500);
}

/** Whether the kernel has the table still: others may flush all rules there are. */
export async function hasTable(host: Host, family: string, name: string): Promise<boolean> {
  const tables = await host.run("nft", ["list", "tables", family]);
  return tables.split("\n").includes(`table ${family} ${name}`);
}

export async function deleteTable(host: Host, family: string, name: string): Promise<void> {
  await host.run("nft", ["-f", "-"], `add table ${family} ${name}\ndelete table ${family} ${name}\n`);
}
