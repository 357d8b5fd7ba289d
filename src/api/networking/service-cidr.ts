import { ageColumn, column } from "#api/meta/columns.ts";
import { Condition } from "#api/meta/condition.ts";
import { cidrFamily, validateCanonicalCidr } from "#api/meta/ip-address.ts";
import { keepMetadata } from "#api/meta/keep-metadata.ts";
import { embedded, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, listByKey, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("networking/v1");

const ServiceCIDRStatus = object("ServiceCIDRStatus", "The observed state of a range of service addresses.", {
  conditions: optional(1, listByKey("type", Condition), "Conditions of the range, one for each type, such as Ready."),
});

const fields = {
  spec: object.embedded(2, "ServiceCIDRSpec", "The addresses of a range of service addresses.", {
    cidrs: optional(1, atomicList(string()), "One or two IP ranges, one of each IP family. A second one can be added."),
  }),
  status: embedded(3, ServiceCIDRStatus),
};
export interface ServiceCIDR extends ClusterObject<typeof fields> {}
interface SentServiceCIDR extends ObjectOf<typeof fields> {}

export const ServiceCIDR = defineResource("networking.k8s.io/v1.ServiceCIDR", fields, {
  doc: "Ranges of IP addresses that services can get.",
  scope: "Cluster",
  withStatus: () => ({}),
  statusResets: { spec: true, metadata: true },
  columns: [column("CIDRs", "IP ranges.", ({ spec }) => (spec.cidrs ?? []).join(",")), ageColumn],

  prepareForStatusUpdate: ({ metadata }, old) =>
    keepMetadata(metadata, old.metadata, "labels", "annotations", "finalizers", "ownerReferences"),
  validateCreate: validateRanges,
  validateUpdate: validateChange,
});

function validateRanges(range: Cursor<SentServiceCIDR>): void {
  const at = range.field("spec").field("cidrs");
  const { cidrs = [] } = range.value.spec;
  if (!at.required("at least one CIDR required")) return;
  if (cidrs.length > 2) {
    // Upstream shows the whole spec, and names the field as its source code does.
    at.invalid("may only hold up to 2 values", { CIDRs: cidrs });
    return;
  }
  range.field("spec").each("cidrs", validateCanonicalCidr);
  const [first, second] = cidrs.map(cidrFamily);
  if (first && first === second) {
    at.invalid("may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
  }
}

/** The only change is from one range to two. */
function validateChange(range: Cursor<SentServiceCIDR>, { spec: old }: SentServiceCIDR): void {
  const { cidrs = [] } = range.value.spec;
  const { cidrs: before = [] } = old;
  const isExtended = before.length === 1 && cidrs.length === 2;
  if (cidrs.length !== before.length && !isExtended) {
    range.field("spec").field("cidrs").as(cidrs).invalid("field is immutable");
    return;
  }
  range.field("spec").each("cidrs", (at, index) => {
    if (index < before.length && at.value !== before[index]) at.invalid("field is immutable");
  });
  if (isExtended) validateRanges(range);
}
