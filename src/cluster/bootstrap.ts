import { Namespace } from "#api/core/namespace.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { ensureBootstrapRoles } from "#server/authorize/bootstrap-roles.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** What every cluster has before its first user: the namespaces and the default roles. */
export async function bootstrapCluster(client: Client): Promise<void> {
  await Promise.all(namespaces.map((name) => ensureNamespace(client, name)));
  await ensureBootstrapRoles(client);
}

async function ensureNamespace(client: Client, name: string): Promise<void> {
  try {
    await client.create(Namespace, { metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
