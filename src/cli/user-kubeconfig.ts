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

/** Names the context, the cluster and the user. A second cluster on the machine appends its port. */
const contextName = "orlop";
const isOurs = (name: string): boolean => /^orlop(-\d+)?$/.test(name);

/** The file that the user's kubectl reads first. */
export function userKubeconfigPath(env: Readonly<Record<string, string | undefined>>): string {
  const [first] = (env.KUBECONFIG ?? "").split(path.delimiter).filter(Boolean);
  return first ?? path.join(env.HOME ?? homedir(), ".kube", "config");
}

export interface Cluster {
  /** A kubeconfig with only this cluster. */
  readonly kubeconfig: string;
  readonly url: string;
  /** Whether a server answers at an address. */
  answers(url: string): Promise<boolean>;
}

/** Adds a context for the cluster and makes it the current one; other contexts stay. Resolves with the context's name. */
export async function addContext(file: string, { kubeconfig, url, answers }: Cluster): Promise<string> {
  const before = await readText(file);
  const taken = (await serversIn(before, file)).get(contextName);
  // The context of a cluster that is gone may be overwritten, but not one of a running cluster.
  const isTaken = taken !== undefined && taken !== url && (await answers(taken));
  const name = isTaken ? `${contextName}-${new URL(url).port}` : contextName;
  const without = before === "" ? "" : await removeOurs(before, url, file);
  await replaceFile(file, await addToKubeconfig(without, await renameKubeconfig(kubeconfig, name), file));
  return name;
}

/** Throws if the file exists and cannot be extended: this must be known before a cluster is started. */
export async function checkKubeconfig(file: string): Promise<void> {
  await addToKubeconfig(await readText(file), "{}", file);
}

/** Removes the contexts of this cluster. Another cluster's context becomes current instead, if there is one. */
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

/** Atomic, because a half-written kubeconfig would lock users out of their other clusters. Keeps owner and mode. */
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
