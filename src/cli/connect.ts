import { type Client } from "#client/client.ts";
import {
  inClusterConfig,
  loadKubeconfig,
  type ResolvedKubeconfig,
  resolveContext,
} from "#client/kubeconfig/kubeconfig.ts";
import { httpClient } from "#client/transport/http.ts";
import { systemClock } from "#lib/async/clock.ts";
import { jsonLog, writeStandardError } from "#lib/process/log.ts";

/** Flags of every command that talks to a cluster. */
export const connectFlags = {
  kubeconfig: { type: "string", value: "FILE", help: "the kubeconfig to use (default: the one that kubectl uses)" },
  context: { type: "string", value: "NAME", help: "the context in the kubeconfig (default: the current one)" },
  namespace: { type: "string", short: "n", value: "NAME", help: "the object's namespace" },
} as const;

export interface ConnectValues {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface Connection extends AsyncDisposable {
  readonly client: Client;
  readonly namespace: string;
}

/** Connects to the cluster that kubectl would use, as the same user. */
export async function connect(values: ConnectValues): Promise<Connection> {
  const resolved = await findCluster(values);
  const log = jsonLog(writeStandardError, "warn");
  const client = httpClient(resolved.config, { clock: systemClock, log, env: process.env });
  return { client, namespace: resolved.namespace, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** In a pod without a kubeconfig, this is the pod's own cluster. */
async function findCluster({ kubeconfig: path, context, namespace }: ConnectValues): Promise<ResolvedKubeconfig> {
  const overrides = { ...(context ? { context } : {}), ...(namespace ? { namespace } : {}) };
  const file = await loadKubeconfig({ env: process.env, ...(path ? { path } : {}) });
  const isEmpty = file.clusters.size === 0 && file.contexts.size === 0;
  const own = isEmpty && !path && !context ? await inClusterConfig(process.env) : undefined;
  return own ? { ...own, ...overrides } : await resolveContext(file, overrides);
}
