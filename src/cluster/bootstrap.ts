import { Namespace } from "#api/core/namespace.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { PriorityClass, systemPriorityClasses } from "#api/scheduling/priority-class.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { ensureBootstrapRoles } from "#server/authorize/bootstrap/bootstrap-roles.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Creates what every cluster has before its first user: namespaces, priority classes and default roles. */
export async function bootstrapCluster(client: Client): Promise<void> {
  await Promise.all(namespaces.map((name) => ensure(client, Namespace, { metadata: { name } })));
  await Promise.all(systemPriorityClasses.map((priorityClass) => ensure(client, PriorityClass, priorityClass)));
  await ensureBootstrapRoles(client);
}

async function ensure<T extends ApiObject>(client: Client, resource: Resource<T>, object: InputOf<T>): Promise<void> {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
