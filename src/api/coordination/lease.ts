import { ageColumn, column } from "#api/meta/columns.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { embedded, nullable } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, microTime, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

const object = inPackage("coordination/v1");

export const LeaseSpec = object("LeaseSpec", "Who holds a lease, and since when.", {
  holderIdentity: nullable(1, string(), "Who holds the lease."),
  leaseDurationSeconds: nullable(2, int32(), "Seconds after renewTime at which others may take the lease."),
  acquireTime: nullable(3, microTime(), "When the present holder took the lease."),
  renewTime: nullable(4, microTime(), "When the holder last said that it is still there."),
  leaseTransitions: nullable(5, int32({ min: 0 }), "How often the lease changed hands."),
  strategy: nullable(6, string(), "How the holder is chosen in coordinated leader election."),
  preferredHolder: nullable(7, string(), "Who should get the lease next; needs a strategy."),
});
export interface LeaseSpec extends Infer<typeof LeaseSpec> {}

const strategies = ["OldestEmulationVersion"];

const fields = {
  spec: embedded(2, LeaseSpec),
};
export interface Lease extends NamespacedObject<typeof fields> {}

export const Lease = defineResource("coordination.k8s.io/v1.Lease", fields, {
  createOnUpdate: true,
  freeFinalizers: true,
  conditionalUpdate: true,
  isUntraced: true,
  doc: "A claim that lasts only as long as its holder renews it.",
  columns: [column("Holder", "Who holds the lease.", (lease) => lease.spec.holderIdentity ?? ""), ageColumn],

  prepareForCreate(lease) {
    dropElection(lease.spec);
  },
  prepareForUpdate(lease, old) {
    dropElection(lease.spec, old.spec);
  },
  validate: validateLease,
});

/** Coordinated leader election is not on by default: its fields are kept only where they already are. */
function dropElection(spec: LeaseSpec, old: LeaseSpec = {}): void {
  if (old.strategy === undefined) delete spec.strategy;
  if (old.preferredHolder === undefined) delete spec.preferredHolder;
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
