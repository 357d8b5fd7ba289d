import { ReplicationController } from "#api/core/replication-controller.ts";
import { replicaController } from "./replica-set.ts";

/** Maintains the number of pods of a ReplicationController, exactly as for a ReplicaSet. */
export const replicationController = replicaController<ReplicationController>({
  name: "replicationcontroller",
  resource: ReplicationController,
  countsTerminating: false,
  selectorOf: ({ spec }) => ({ matchLabels: spec.selector ?? {} }),
});
