import { ReplicationController } from "#api/core/replication-controller.ts";
import { replicaController } from "./replica-set.ts";

/** Keeps as many pods as a ReplicationController asks for, just as for a ReplicaSet. */
export const replicationController = replicaController<ReplicationController>({
  name: "replicationcontroller",
  resource: ReplicationController,
  countsTerminating: false,
  selectorOf: ({ spec }) => ({ matchLabels: spec.selector ?? {} }),
});
