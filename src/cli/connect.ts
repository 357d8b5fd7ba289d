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
  kubeconfig: { type: "string", value: "FILE", help: "where the cluster's address and the credentials are" },
  context: { type: "string", value: "NAME", help: "which of the kubeconfig's contexts" },
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

/** The cluster that kubectl would use, as the same user. */
export async function connect(values: ConnectValues): Promise<Connection> {
  const resolved = await findCluster(values);
  const log = jsonLog(writeStandardError, "warn");
  const client = httpClient(resolved.config, { clock: systemClock, log, env: process.env });
  return { client, namespace: resolved.namespace, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** Without a kubeconfig, a pod asks the cluster that it is in. */
async function findCluster({ kubeconfig: path, context, namespace }: ConnectValues): Promise<ResolvedKubeconfig> {
  const overrides = { ...(context ? { context } : {}), ...(namespace ? { namespace } : {}) };
  const file = await loadKubeconfig({ env: process.env, ...(path ? { path } : {}) });
  const isEmpty = file.clusters.size === 0 && file.contexts.size === 0;
  const own = isEmpty && !path && !context ? await inClusterConfig(process.env) : undefined;
  return own ? { ...own, ...overrides } : await resolveContext(file, overrides);
}
