import { column } from "#api/meta/columns.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { canonicalIpFault } from "#api/meta/ip-address.ts";
import { dns1123Subdomain, pathSegmentName } from "#api/meta/names.ts";
import { demanded, nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource, groupResource } from "../resource.ts";

const object = inPackage("networking/v1");

const ParentReference = object("ParentReference", "The object that an IP address belongs to.", {
  group: optional(1, string(), "API group of the object that the address belongs to; empty for the core group."),
  resource: demanded(optional(2, string(), "Resource of the object that the address belongs to, such as services.")),
  namespace: optional(3, string(), "Namespace of the object that the address belongs to."),
  name: demanded(optional(4, string(), "Name of the object that the address belongs to.")),
});
interface ParentReference extends Infer<typeof ParentReference> {}

const fields = {
  spec: demanded(
    object.embedded(2, "IPAddressSpec", "Which object an IP address belongs to.", {
      parentRef: demanded(nullable(1, ParentReference, "Object that the address belongs to. Cannot be changed.")),
    }),
  ),
};
export interface IPAddress extends ClusterObject<typeof fields> {}

/** Its name is the address. */
export const IPAddress = defineResource("networking.k8s.io/v1.IPAddress", fields, {
  doc: "An IP address that is in use, and the object that it belongs to.",
  shortNames: ["ip"],
  scope: "Cluster",
  columns: [column("ParentRef", "Object that the address belongs to.", ({ spec }) => parentOf(spec.parentRef))],
  nameRule: canonicalIpFault,

  validate: (address) => validateParent(address.field("spec").field("parentRef")),
  validateUpdate(address, old) {
    const at = address.field("spec").field("parentRef");
    if (!semanticEqual(ParentReference, at.value, old.spec.parentRef)) {
      at.invalid("field is immutable", shown(at.value));
    }
  },
});

function parentOf(parent: ParentReference | undefined): string {
  if (!parent) return "<none>";
  const { group = "", resource = "", namespace, name = "" } = parent;
  const path = [groupResource({ group }, resource).toLowerCase(), ...(namespace ? [namespace] : []), name];
  return path.join("/");
}

/** Upstream names the fields here as its source code does. */
const shown = (parent: ParentReference | undefined): object | null =>
  parent
    ? {
        Group: parent.group ?? "",
        Resource: parent.resource ?? "",
        Namespace: parent.namespace ?? "",
        Name: parent.name ?? "",
      }
    : null;

function validateParent(at: Cursor<ParentReference | undefined>): void {
  if (!at.value) {
    at.missing();
    return;
  }
  const parent = at.as(at.value);
  parent.field("group").rule(dns1123Subdomain);
  for (const name of ["resource", "name"] as const) {
    if (parent.field(name).required()) parent.field(name).rule(pathSegmentName);
  }
  parent.field("namespace").rule(pathSegmentName);
}
