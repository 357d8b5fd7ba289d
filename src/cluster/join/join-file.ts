import { readFile } from "node:fs/promises";
import path from "node:path";
import type { KubeletFiles } from "#cluster/kubelet-config/load.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { JoinError, parseJoinToken } from "./cluster-info.ts";
import { type Invitation } from "./node-credentials.ts";

/** What an agent was told when it was started. It is in a file, because a command line is visible to every user. */
export interface JoinFile {
  readonly server: string;
  readonly nodeName: string;
  readonly kubeletPort: number;
  readonly address?: string | undefined;
  readonly token?: string | undefined;
  readonly caHashes?: readonly string[] | undefined;
  readonly ca?: string | undefined;
  /** The configuration of the node. */
  readonly kubeletFiles?: KubeletFiles | undefined;
}

const joinFile = (dataDir: string): string => path.join(dataDir, "join.json");

export const writeJoinFile = (dataDir: string, join: JoinFile): Promise<void> =>
  replaceFile(joinFile(dataDir), `${JSON.stringify(join, undefined, 2)}\n`);

/** undefined if this machine was never told to join. */
export async function readJoinFile(dataDir: string): Promise<JoinFile | undefined> {
  const text = await readFile(joinFile(dataDir), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as JoinFile;
  } catch (cause) {
    throw new JoinError(`${joinFile(dataDir)} is damaged: give --server and --token again`, { cause });
  }
}

export const invitationOf = ({ token, caHashes = [], ca }: JoinFile): Invitation | undefined =>
  token ? { token: parseJoinToken(token), caHashes, ca } : undefined;
