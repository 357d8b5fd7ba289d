import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DataDirectoryError } from "./sqlite.ts";

/** Where the state of a data directory can be. */
export type Place = "sqlite" | "etcd";

/** `orlop migrate` leaves one of these in the data directory, because the old state stays where it was. */
export const movedFiles = { etcd: "moved-to-etcd", sqlite: "moved-to-sqlite" } as const;

const fileOf = (dataDir: string, to: Place): string => path.join(dataDir, movedFiles[to]);

/** Records that only the state at `to` is current. `how` are the flags with which a server finds it. */
export function markMoved(dataDir: string, to: Place, how: string): void {
  writeFileSync(fileOf(dataDir, to), `${how}\n`, { mode: 0o600 });
  rmSync(fileOf(dataDir, to === "etcd" ? "sqlite" : "etcd"), { force: true });
}

/** For a state that is put into the directory on purpose. */
export function forgetMoves(dataDir: string): void {
  for (const name of Object.values(movedFiles)) rmSync(path.join(dataDir, name), { force: true });
}

export const hasMoved = (dataDir: string, to: Place): boolean => existsSync(fileOf(dataDir, to));

/** Throws if the state that would be used is an old one, because it has moved to the other place. */
export function refuseMoved(dataDir: string, used: Place): void {
  const to = used === "etcd" ? "sqlite" : "etcd";
  if (!hasMoved(dataDir, to)) return;
  const file = fileOf(dataDir, to);
  throw new DataDirectoryError(
    to === "etcd"
      ? `the state of ${dataDir} was moved to etcd: add ${flagsIn(file)}; to use the old state in state.db on purpose, remove ${file}`
      : `the state of ${dataDir} was moved from etcd to its state.db: leave out --etcd-servers; to use the old state in etcd on purpose, remove ${file}`,
  );
}

const maxFlags = 1000;

/** What `markMoved` has recorded, in one line. */
function flagsIn(file: string): string {
  const text = readFileSync(file, "utf8").slice(0, maxFlags);
  return text.replaceAll(/\p{Cc}+/gu, " ").trim() || "--etcd-servers URLS";
}
