import { chmod, chown, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import {
  addToKubeconfig,
  removeFromKubeconfig,
  renameKubeconfig,
  serversIn,
} from "#client/kubeconfig/merge-kubeconfig.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { errorCode } from "#lib/text/error-code.ts";

/** Of the context, of the cluster and of the user; a second cluster on the machine has its port behind it. */
const contextName = "orlop";
const isOurs = (name: string): boolean => /^orlop(-\d+)?$/.test(name);

/** Where the user's kubectl looks first. */
export function userKubeconfigPath(env: Readonly<Record<string, string | undefined>>): string {
  const [first] = (env.KUBECONFIG ?? "").split(path.delimiter).filter(Boolean);
  return first ?? path.join(env.HOME ?? homedir(), ".kube", "config");
}

export interface Cluster {
  /** A kubeconfig with this cluster alone. */
  readonly kubeconfig: string;
  readonly url: string;
  /** Whether a server answers at an address. */
  answers(url: string): Promise<boolean>;
}

/** Adds a context for the cluster and makes it the current one; other contexts are left alone. Resolves with its name. */
export async function addContext(file: string, { kubeconfig, url, answers }: Cluster): Promise<string> {
  const before = await readText(file);
  const taken = (await serversIn(before, file)).get(contextName);
  // What another cluster left behind may be overwritten, but not one that runs.
  const isTaken = taken !== undefined && taken !== url && (await answers(taken));
  const name = isTaken ? `${contextName}-${new URL(url).port}` : contextName;
  const without = before === "" ? "" : await removeOurs(before, url, file);
  await replaceFile(file, await addToKubeconfig(without, await renameKubeconfig(kubeconfig, name), file));
  return name;
}

/** Throws if the file is there and cannot be added to: better known before a cluster is started than after. */
export async function checkKubeconfig(file: string): Promise<void> {
  await addToKubeconfig(await readText(file), "{}", file);
}

/** Removes the contexts that lead to this cluster; another cluster's become current instead, if there is one. */
export async function removeContext(file: string, url: string): Promise<void> {
  const text = await readText(file);
  if (text === "" || !text.includes(url)) return;
  await replaceFile(file, await removeOurs(text, url, file));
}

async function removeOurs(text: string, url: string, file: string): Promise<string> {
  const clusters = [...(await serversIn(text, file))].filter(([name]) => isOurs(name));
  const names = clusters.filter(([, server]) => server === url).map(([name]) => name);
  if (names.length === 0) return text;
  const next = clusters.find(([, server]) => server !== url)?.[0] ?? "";
  return await removeFromKubeconfig(text, { names, next }, file);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

/** Whole or not at all: a half-written kubeconfig locks people out of their other clusters. It stays whose it was. */
async function replaceFile(file: string, text: string): Promise<void> {
  await makeDirectory(path.dirname(file), { mode: 0o700 });
  const target = await realpath(file).catch(() => file);
  const before = await stat(target).catch(() => undefined);
  const temporary = `${target}.orlop-${process.pid}`;
  await writeFile(temporary, text, { mode: 0o600 });
  if (before) {
    await chmod(temporary, before.mode & 0o777);
    await chown(temporary, before.uid, before.gid);
  }
  await rename(temporary, target);
}
