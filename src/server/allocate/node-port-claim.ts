import { type ClusterObject, defineResource } from "#api/resource.ts";
import { present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";

const object = inPackage("orlop/v1");

const fields = {
  spec: object.embedded(2, "NodePortClaimSpec", "Which service a port of the nodes belongs to.", {
    namespace: present(1, string(), "Namespace of the service."),
    name: present(2, string(), "Name of the service."),
  }),
};
export interface NodePortClaim extends ClusterObject<typeof fields> {}

/**
 * A node port that is in use; its name is the port. Only the server itself sees this kind. Its key can exist only once,
 * so no two servers give away the same port. Upstream keeps one bitmap for all ports, over which writers compete.
 */
export const NodePortClaim = defineResource("orlop/v1.NodePortClaim", fields, {
  doc: "A port of the nodes that is in use, and the service that it belongs to.",
  scope: "Cluster",
  storagePrefix: "ranges/servicenodeports",
  hasNoDependents: true,
});
