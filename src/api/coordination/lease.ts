import { ageColumn, column } from "#api/meta/columns.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { nullable } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, microTime, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";

const object = inPackage("coordination/v1");

const strategies = ["OldestEmulationVersion"];

const fields = {
  spec: object.embedded(2, "LeaseSpec", "Who holds a lease, and for how long.", {
    holderIdentity: nullable(1, string(), "Identity of the holder of the lease."),
    leaseDurationSeconds: nullable(2, int32(), "Seconds after renewTime at which others may take the lease."),
    acquireTime: nullable(3, microTime(), "When the current holder acquired the lease."),
    renewTime: nullable(4, microTime(), "When the current holder last renewed the lease."),
    leaseTransitions: nullable(5, int32({ min: 0 }), "How often the lease went from one holder to another."),
    strategy: nullable(6, string(), "How coordinated leader election chooses the holder."),
    preferredHolder: nullable(7, string(), "Identity that should get the lease next. Requires strategy."),
  }),
};
export interface Lease extends NamespacedObject<typeof fields> {}

export const Lease = defineResource("coordination.k8s.io/v1.Lease", fields, {
  createOnUpdate: true,
  freeFinalizers: true,
  conditionalUpdate: true,
  isUntraced: true,
  doc: "A claim that lasts only as long as its holder renews it.",
  columns: [column("Holder", "Holder of the lease.", (lease) => lease.spec.holderIdentity ?? ""), ageColumn],

  prepareForCreate: (lease) => dropElection(lease),
  prepareForUpdate: dropElection,
  validate: validateLease,
});

/** Coordinated leader election is off by default: its fields are kept only in objects that already have them. */
function dropElection({ spec }: ObjectOf<typeof fields>, old?: ObjectOf<typeof fields>): void {
  if (old?.spec.strategy === undefined) delete spec.strategy;
  if (old?.spec.preferredHolder === undefined) delete spec.preferredHolder;
}

function validateLease(lease: Cursor<Lease>): void {
  const at = lease.field("spec");
  const { leaseDurationSeconds: seconds, strategy, preferredHolder } = at.value;
  if (seconds !== undefined && seconds <= 0) at.field("leaseDurationSeconds").invalid("must be greater than 0");
  if (strategy !== undefined) {
    const place = at.under("strategy", "strategy").as(strategy);
    if (strategy.includes("/")) place.rule(qualifiedName);
    else place.oneOf(strategies);
  }
  if (preferredHolder && !strategy) {
    at.field("preferredHolder").forbidden("may only be specified if `strategy` is defined");
  }
}
