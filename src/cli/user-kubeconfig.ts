import { chmod, chown, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { addToKubeconfig, removeFromKubeconfig } from "#client/merge-kubeconfig.ts";
import { makeDirectory } from "#lib/make-directory.ts";

/** Of the context, of the cluster and of the user. */
export const contextName = "orlop";

/** Where the user's kubectl looks first. */
export function userKubeconfigPath(env: Readonly<Record<string, string | undefined>>): string {
  const [first] = (env.KUBECONFIG ?? "").split(path.delimiter).filter(Boolean);
  return first ?? path.join(env.HOME ?? homedir(), ".kube", "config");
}

/** Adds the context `orlop` and makes it the current one; other contexts are left alone. */
export async function addContext(file: string, kubeconfig: string): Promise<void> {
  await replaceFile(file, await addToKubeconfig(await readText(file), kubeconfig, file));
}

/** Throws if the file is there and cannot be added to: better known before a cluster is started than after. */
export async function checkKubeconfig(file: string): Promise<void> {
  await addToKubeconfig(await readText(file), "{}", file);
}

export async function removeContext(file: string): Promise<void> {
  const text = await readText(file);
  if (text === "" || !text.includes(contextName)) return;
  await replaceFile(file, await removeFromKubeconfig(text, { context: contextName, user: contextName }, file));
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
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
