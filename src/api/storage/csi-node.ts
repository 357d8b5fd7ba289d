import { validateCsiDriver } from "#api/core/pod/validate/volumes/validate-volume-sources.ts";
import { ageColumn, numberColumn } from "#api/meta/columns.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { firstByName } from "#lib/data/first-by-name.ts";
import { nullable, optional, present, required, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, listByKey, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource } from "../resource.ts";

const object = inPackage("storage/v1");

const CSINodeDriver = object("CSINodeDriver", "A CSI driver that is installed on a node.", {
  name: required(1, string(), "Name of the CSI driver."),
  nodeID: required(2, string(), "Name that the CSI driver has for the node."),
  topologyKeys: written(optional(3, atomicList(string()), "Labels of nodes that the driver supports as topology.")),
  allocatable: object.nullable(4, "VolumeNodeResources", "How many volumes of the driver the node can have.", {
    count: nullable(1, int32({ min: 0 }), "Maximum number of volumes of the driver on the node; no limit if absent."),
  }),
});
interface CSINodeDriver extends Infer<typeof CSINodeDriver> {}

const fields = {
  spec: object.present(2, "CSINodeSpec", "The CSI drivers that are installed on a node.", {
    drivers: present(1, listByKey("name", CSINodeDriver), "CSI drivers that are installed on the node."),
  }),
};
export interface CSINode extends ClusterObject<typeof fields> {}

const maxNodeIdBytes = 256;

export const CSINode = defineResource("storage.k8s.io/v1.CSINode", fields, {
  doc: "Describes the CSI drivers on a node. Its name is that of the node.",
  scope: "Cluster",
  conditionalUpdate: true,
  returnsDeleted: true,
  columns: [numberColumn("Drivers", "Number of drivers on the node.", ({ spec }) => spec.drivers.length), ageColumn],
  indexes: {
    /** By the drivers of which the node can have only so many volumes. */
    limit: ({ spec }) =>
      spec.drivers.flatMap(({ name, allocatable }) => (allocatable?.count === undefined ? [] : name)),
  },

  validate(node) {
    const names = new Set<string>();
    node.field("spec").each("drivers", (at) => {
      validateDriver(at);
      at.field("name").unique(names);
      validateTopologyKeys(at);
    });
  },
  validateUpdate(node, old) {
    const before = firstByName(old.spec.drivers);
    const list = node.under("spec", "drivers");
    for (const driver of node.value.spec.drivers) {
      const known = before.get(driver.name);
      if (known && !isSameDriver(driver, known)) list.invalid("field is immutable", shown(driver));
    }
  },
});

function validateDriver(at: Cursor<CSINodeDriver>): void {
  validateCsiDriver(at.field("name"));
  if (Buffer.byteLength(at.value.nodeID) > maxNodeIdBytes) {
    at.field("nodeID").invalid(`must be ${maxNodeIdBytes} characters or less`);
  }
}

/** Upstream reports faults of the keys at the driver. */
function validateTopologyKeys(at: Cursor<CSINodeDriver>): void {
  const keys = new Set<string>();
  for (const key of at.value.topologyKeys ?? []) {
    if (!key) at.missing();
    at.as(key).unique(keys);
    at.rule(qualifiedName, key);
  }
}

/** Upstream names the fields here as its source code does. */
const shown = ({ name, nodeID, topologyKeys }: CSINodeDriver): object => ({
  Name: name,
  NodeID: nodeID,
  TopologyKeys: topologyKeys ?? null,
  Allocatable: null,
});

/** Only the number of volumes may change. */
function isSameDriver(
  { allocatable: _a, ...driver }: CSINodeDriver,
  { allocatable: _b, ...old }: CSINodeDriver,
): boolean {
  return semanticEqual(CSINodeDriver, driver, old);
}
