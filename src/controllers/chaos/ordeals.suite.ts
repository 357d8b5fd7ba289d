import { type Ordeal } from "#testing/chaos/ordeal.ts";
import { batch } from "./batch.suite.ts";
import { cluster } from "./cluster.suite.ts";
import { devices } from "./devices.suite.ts";
import { identities } from "./identities.suite.ts";
import { nodes } from "./nodes.suite.ts";
import { services } from "./services.suite.ts";
import { storage } from "./storage.suite.ts";
import { workloads } from "./workloads.suite.ts";

/** What every controller has to bring about while it is killed, refused and kept in the dark. */
export const ordeals: readonly Ordeal[] = [
  ...identities,
  ...nodes,
  ...workloads,
  ...batch,
  ...services,
  ...storage,
  ...devices,
  ...cluster,
];
