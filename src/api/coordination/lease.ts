import { type FieldError, forbiddenValue, invalidValue, root, unsupportedValue } from "#schema/field-error.ts";
import { embedded, type Infer, int32, microTime, nullable, object, string } from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { dns1123Subdomain, qualifiedName } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

export const LeaseSpec = object(
  "coordination/v1.LeaseSpec",
  {
    holderIdentity: nullable(1, string(), "Who holds the lease."),
    leaseDurationSeconds: nullable(2, int32(), "Seconds after renewTime at which others may take the lease."),
    acquireTime: nullable(3, microTime(), "When the present holder took the lease."),
    renewTime: nullable(4, microTime(), "When the holder last said that it is still there."),
    leaseTransitions: nullable(5, int32({ min: 0 }), "How often the lease changed hands."),
    strategy: nullable(6, string(), "How the holder is chosen in coordinated leader election."),
    preferredHolder: nullable(7, string(), "Who should get the lease next; needs a strategy."),
  },
  { doc: "Who holds a lease, and since when." },
);
export interface LeaseSpec extends Infer<typeof LeaseSpec> {}

const strategies = ["OldestEmulationVersion"];

const fields = {
  spec: embedded(2, LeaseSpec, "Who holds the lease, and since when."),
};
export interface Lease extends ObjectOf<typeof fields> {}

/** A claim that lasts only as long as it is renewed: for leader election and for the life signs of nodes. */
export const Lease = defineResource({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  package: "coordination/v1",
  scope: "Namespaced",
  createOnUpdate: true,
  freeFinalizers: true,
  conditionalUpdate: true,
  doc: "A claim that lasts only as long as its holder renews it.",
  fields,
  columns: [
    {
      name: "Holder",
      type: "string",
      description: "Who holds the lease.",
      value: (lease) => lease.spec.holderIdentity ?? "",
    },
    ageColumn,
  ],
  nameRule: dns1123Subdomain,

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

function* validateLease({ spec }: Lease): Iterable<FieldError> {
  const path = root.child("spec");
  const { leaseDurationSeconds: seconds, strategy, preferredHolder } = spec;
  if (seconds !== undefined && seconds <= 0) {
    yield invalidValue(path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
  }
  if (strategy !== undefined) {
    const at = path.child("strategy", "strategy");
    if (strategy.includes("/")) {
      for (const fault of qualifiedName.all(strategy)) yield invalidValue(at, strategy, fault);
    } else if (!strategies.includes(strategy)) {
      yield unsupportedValue(at, strategy, strategies);
    }
  }
  if (preferredHolder && !strategy) {
    yield forbiddenValue(path.child("preferredHolder"), "may only be specified if `strategy` is defined");
  }
}
