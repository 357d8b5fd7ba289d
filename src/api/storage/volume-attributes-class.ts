import { ageColumn, column } from "#api/meta/columns.ts";
import { equal } from "#lib/data/equal.ts";
import { optional, required } from "#schema/fields.ts";
import { map, string } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { validateParameters, validateProvisioner } from "./parameters.ts";

const fields = {
  driverName: required(2, string(), "Name of the CSI driver that the class is for. Cannot be changed."),
  parameters: optional(3, map(string()), "Attributes of the volumes, by name, for the driver. Cannot be changed."),
};
export interface VolumeAttributesClass extends ClusterObject<typeof fields> {}

export const VolumeAttributesClass = defineResource("storage.k8s.io/v1.VolumeAttributesClass", fields, {
  doc: "Describes attributes of volumes, such as their speed, that a claim can change later.",
  shortNames: ["vac"],
  scope: "Cluster",
  returnsDeleted: true,
  columns: [column("DriverName", "Name of the CSI driver.", ({ driverName }) => driverName), ageColumn],

  validate(at) {
    const { parameters = {} } = at.value;
    validateProvisioner(at.field("driverName"));
    validateParameters(at.field("parameters"));
    if (Object.keys(parameters).length === 0) {
      at.field("parameters").missing("must contain at least one key/value pair");
    }
  },
  validateUpdate(at, old) {
    const { driverName, parameters = {} } = at.value;
    if (driverName !== old.driverName) at.field("driverName").forbidden("updates to driverName are forbidden.");
    if (!equal(parameters, old.parameters ?? {})) {
      at.field("parameters").forbidden("updates to parameters are forbidden.");
    }
  },
});
