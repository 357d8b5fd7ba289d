import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { serviceAccountDir } from "#api/well-known.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import type { AuthConfig, ClientConfig, ExecConfig, TlsConfig } from "../client-config.ts";
import {
  type Kubeconfig,
  type KubeconfigCluster,
  KubeconfigError,
  type KubeconfigUser,
  parseKubeconfig,
} from "./kubeconfig-file.ts";

/** Where to look for kubeconfig files. */
export interface KubeconfigSource {
  /** Given by the caller (`--kubeconfig`): must exist, and is the only file read. */
  readonly path?: string;
  /** Only `KUBECONFIG` and `HOME` are used. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Reads and merges the files: if two define the same entry, the first wins. Missing files are skipped. */
export async function loadKubeconfig(source: KubeconfigSource): Promise<Kubeconfig> {
  const paths = kubeconfigPaths(source);
  const files: Kubeconfig[] = [];
  for (const path of paths) {
    const text = source.path === undefined ? await readIfThere(path) : await read(path);
    if (text !== undefined) files.push(await parseKubeconfig(text, path));
  }
  return mergeKubeconfigs(files, paths);
}

/** The files in order of precedence. */
function kubeconfigPaths({ path, env }: KubeconfigSource): string[] {
  if (path) return [resolve(path)];
  const listed = [...new Set((env.KUBECONFIG ?? "").split(":").filter(Boolean))];
  if (listed.length > 0) return listed.map((file) => resolve(file));
  return env.HOME ? [resolve(env.HOME, ".kube/config")] : [];
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new KubeconfigError(`${path}: cannot be read: ${codeOf(cause) ?? String(cause)}`, { cause });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await read(path);
  } catch (error) {
    if (error instanceof KubeconfigError && codeOf(error.cause) === "ENOENT") return undefined;
    throw error;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function mergeKubeconfigs(files: readonly Kubeconfig[], paths: readonly string[]): Kubeconfig {
  const merged: Kubeconfig = {
    paths,
    currentContext: files.find(({ currentContext }) => currentContext)?.currentContext ?? "",
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  for (const file of files.toReversed()) {
    for (const [name, cluster] of file.clusters) merged.clusters.set(name, cluster);
    for (const [name, user] of file.users) merged.users.set(name, user);
    for (const [name, context] of file.contexts) merged.contexts.set(name, context);
  }
  return merged;
}

/** What the command line may say over the file. */
export interface KubeconfigOverrides {
  readonly context?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

export interface ResolvedKubeconfig {
  readonly config: ClientConfig;
  readonly namespace: string;
  readonly context: string;
}

/** The connection of a context, with certificates read from their files. */
export async function resolveContext(
  kubeconfig: Kubeconfig,
  overrides: KubeconfigOverrides = {},
): Promise<ResolvedKubeconfig> {
  const contextName = overrides.context ?? kubeconfig.currentContext;
  const context = contextName ? kubeconfig.contexts.get(contextName) : undefined;
  if (contextName && !context) throw new KubeconfigError(`context ${JSON.stringify(contextName)} does not exist`);
  const clusterName = overrides.cluster ?? context?.cluster ?? "";
  const userName = overrides.user ?? context?.user ?? "";
  const cluster = kubeconfig.clusters.get(clusterName);
  if (!cluster) throw new KubeconfigError(missingCluster(kubeconfig, clusterName, contextName));
  const user = kubeconfig.users.get(userName);
  if (userName && !user) {
    throw new KubeconfigError(
      `user ${JSON.stringify(userName)} of context ${JSON.stringify(contextName)} does not exist`,
    );
  }
  const config = await connectionOf(cluster, user);
  return { config, namespace: overrides.namespace ?? context?.namespace ?? "default", context: contextName };
}

function missingCluster({ paths, contexts }: Kubeconfig, cluster: string, context: string): string {
  if (cluster) return `cluster ${JSON.stringify(cluster)} of context ${JSON.stringify(context)} does not exist`;
  if (context) return `context ${JSON.stringify(context)} names no cluster`;
  if (contexts.size > 0) return "no current-context is set, and no context was named";
  return `no configuration found: looked in ${paths.join(", ") || "no file, as neither KUBECONFIG nor HOME is set"}`;
}

async function connectionOf(cluster: KubeconfigCluster, user: KubeconfigUser | undefined): Promise<ClientConfig> {
  const auth = user ? authOf(user) : undefined;
  return {
    server: cluster.server.replace(/\/+$/, ""),
    tls: await tlsOf(cluster, user),
    ...(auth ? { auth } : {}),
    ...(user?.impersonate ? { impersonate: user.impersonate } : {}),
    ...(cluster.proxyUrl ? { proxyUrl: cluster.proxyUrl } : {}),
    ...(cluster.disableCompression === false ? { compress: true } : {}),
  };
}

async function tlsOf(cluster: KubeconfigCluster, user: KubeconfigUser | undefined): Promise<TlsConfig> {
  const ca = await pemOf(cluster.certificateAuthorityData, cluster.certificateAuthority, cluster.origin);
  const cert = user && (await pemOf(user.clientCertificateData, user.clientCertificate, user.origin));
  const key = user && (await pemOf(user.clientKeyData, user.clientKey, user.origin));
  if (cert && !key) throw new KubeconfigError(`${user.origin.at}: client-certificate has no client-key to go with it`);
  if (key && !cert) throw new KubeconfigError(`${user.origin.at}: client-key has no client-certificate to go with it`);
  return {
    ...(ca ? { ca } : {}),
    ...(cert && key ? { cert, key } : {}),
    ...(cluster.tlsServerName ? { serverName: cluster.tlsServerName } : {}),
    ...(cluster.insecureSkipTlsVerify ? { insecureSkipVerify: true } : {}),
  };
}

/** Inline data takes precedence over a file, as upstream. Files are relative to the kubeconfig that names them. */
async function pemOf(
  data: string | undefined,
  file: string | undefined,
  origin: { readonly path: string; readonly at: string },
): Promise<string | undefined> {
  if (data) return Buffer.from(data, "base64").toString();
  if (!file) return undefined;
  const path = resolve(dirname(origin.path), file);
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new KubeconfigError(`${origin.at}: cannot read ${path}: ${String(cause)}`, { cause });
  }
}

function authOf(user: KubeconfigUser): AuthConfig | undefined {
  const { token, tokenFile, username, password } = user;
  if (tokenFile) return { tokenFile: resolve(dirname(user.origin.path), tokenFile), ...(token ? { token } : {}) };
  if (token) return { token };
  if (username) return { basic: { username, password: password ?? "" } };
  return user.exec ? { exec: execOf(user.exec, user.origin.path) } : undefined;
}

/** A command with a slash is relative to the kubeconfig; a bare name is looked up in PATH. */
function execOf(exec: ExecConfig, path: string): ExecConfig {
  return exec.command.includes("/") ? { ...exec, command: resolve(dirname(path), exec.command) } : exec;
}

/** The configuration inside a pod; undefined elsewhere. */
export async function inClusterConfig(
  { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }: Readonly<Record<string, string | undefined>>,
  dir = serviceAccountDir,
): Promise<ResolvedKubeconfig | undefined> {
  const token = await readIfThere(`${dir}/token`);
  if (!host || !port || !token) return undefined;
  const ca = await readIfThere(`${dir}/ca.crt`);
  const namespace = await readIfThere(`${dir}/namespace`);
  const server = `https://${hostInUrl(host)}:${port}`;
  const auth = { tokenFile: `${dir}/token` };
  return { config: { server, tls: ca ? { ca } : {}, auth }, namespace: namespace?.trim() || "default", context: "" };
}
