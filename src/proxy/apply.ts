import { readFile, writeFile } from "node:fs/promises";
import { ownAddresses } from "#lib/net/ip.ts";
import { type Log } from "#lib/process/log.ts";
import { CommandError, eachLine, runCommand } from "#lib/process/processes.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { type MachinePort, readMachinePorts } from "./machine/machine-ports.ts";
import { type Fragment, RuleTable, type TableFrame } from "./rule-table.ts";

/** The machine that the rules are for; in tests, a network namespace. */
export interface Host {
  /** Runs a command and resolves with its output. */
  run(command: string, args: readonly string[], input?: string): Promise<string>;
  /** Runs a command and passes on each line of its output. */
  eachLine(command: string, args: readonly string[], line: (text: string) => void): Promise<void>;
  /** A kernel setting by its path below /proc/sys; undefined if the kernel does not have it. */
  readSetting(path: string): Promise<string | undefined>;
  writeSetting(path: string, value: string): Promise<void>;
  /** All current addresses of the machine. */
  addresses(): Promise<readonly string[]>;
  /** The ports of programs on the machine that others can reach; none by default. */
  machinePorts?(): Promise<readonly MachinePort[]>;
}

export const thisHost: Host = {
  async run(command, args, input) {
    return (await runCommand(command, args, { input })).stdout;
  },
  eachLine,
  async readSetting(path) {
    try {
      return (await readFile(`/proc/sys/${path}`, "utf8")).trim();
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  },
  writeSetting: (path, value) => writeFile(`/proc/sys/${path}`, value),
  addresses: async () => ownAddresses(),
  machinePorts: readMachinePorts,
};

export interface Applied {
  /** The last text that was sent, "" if nothing had changed. */
  readonly text: string;
  /** Owners whose fragments were replaced in the table because the kernel refuses them. */
  readonly refused: readonly Refusal[];
  /** Why the rest could not be applied either. */
  readonly error?: unknown;
}

export interface Refusal {
  readonly owner: string;
  readonly complaint: string;
}

export interface ApplyOptions {
  readonly log: Log;
  /** What an owner gets in place of a fragment that the kernel refuses; by default, nothing. */
  instead?(owner: string): Fragment | undefined;
}

/**
 * Brings the kernel to the state of the table in one transaction. If the kernel refuses it, the fragments to blame are
 * replaced and everything else is sent. If none of them is to blame, somebody else changed the table, and the kernel gets
 * the whole table again.
 */
export async function applyRules(host: Host, table: RuleTable, { log, instead }: ApplyOptions): Promise<Applied> {
  const refused: Refusal[] = [];
  for (const suspects of ["unsent", "all"] as const) {
    const { text, error } = await trySending(host, table);
    if (!error) return { text, refused };
    const found = await findRefused(host, table.frame, table.fragments(suspects));
    const replaced = new Set(refused.map(({ owner }) => owner));
    for (const { owner } of found) table.set(owner, replaced.has(owner) ? undefined : instead?.(owner));
    refused.push(...found);
    log.warn("the kernel refused a change of rules", { error, refused: found.map(({ owner }) => owner) });
    if (found.length === 0 || suspects === "all") table.forget();
  }
  const last = await trySending(host, table);
  if (last.error) table.forget();
  return { ...last, refused };
}

async function trySending(host: Host, table: RuleTable): Promise<{ text: string; error?: unknown }> {
  const text = table.takeChanges();
  if (text === "") return { text };
  try {
    await sendRules(host, text);
    table.confirm();
    return { text };
  } catch (error) {
    table.rollBack();
    return { text, error };
  }
}

/** How often nft is run in one search. With many fragments to blame, innocent ones wait for the next search. */
const maxChecks = 64;

/** Finds the fragments that the kernel refuses, by bisection. Nothing in the kernel changes meanwhile. */
async function findRefused(
  host: Host,
  frame: TableFrame,
  fragments: ReadonlyMap<string, Fragment>,
): Promise<Refusal[]> {
  const found: Refusal[] = [];
  let checks = 0;
  const complaintAbout = async (owners: readonly string[]): Promise<string | undefined> => {
    checks++;
    const scratch = new RuleTable(frame);
    for (const owner of owners) scratch.set(owner, fragments.get(owner));
    try {
      await host.run("nft", ["-c", "-f", "-"], scratch.takeChanges());
      return undefined;
    } catch (error) {
      return firstComplaint(error);
    }
  };
  const search = async (owners: readonly string[]): Promise<void> => {
    const complaint = owners.length === 0 ? undefined : await complaintAbout(owners);
    if (complaint === undefined) return;
    if (owners.length === 1 || checks >= maxChecks) {
      found.push(...owners.map((owner) => ({ owner, complaint })));
      return;
    }
    const half = owners.length >> 1;
    await search(owners.slice(0, half));
    await search(owners.slice(half));
  };
  // If the machine refuses even the empty table, the fragments are not to blame.
  if ((await complaintAbout([])) === undefined) await search([...fragments.keys()]);
  return found;
}

async function sendRules(host: Host, text: string): Promise<void> {
  try {
    await host.run("nft", ["-f", "-"], text);
  } catch (error) {
    throw new Error(`nft refused ${text.split("\n").length - 1} lines: ${firstComplaint(error)}`, { cause: error });
  }
}

/** nft repeats each line that it refuses, and a refused transaction can have thousands. */
function firstComplaint(error: unknown): string {
  if (!(error instanceof CommandError)) return String(error);
  return error.message.split("\n").slice(0, 3).join(" ").slice(0, 500);
}

/** Whether the kernel still has the table: others may flush all rules. */
export async function hasTable(host: Host, family: string, name: string): Promise<boolean> {
  const tables = await host.run("nft", ["list", "tables", family]);
  return tables.split("\n").includes(`table ${family} ${name}`);
}

export async function deleteTable(host: Host, family: string, name: string): Promise<void> {
  await host.run("nft", ["-f", "-"], `add table ${family} ${name}\ndelete table ${family} ${name}\n`);
}
