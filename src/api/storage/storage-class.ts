import { ageColumn, column } from "#api/meta/columns.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { defaulted, immutable, inGo, nullable, optional, required } from "#schema/fields.ts";
import { atomicList, boolean, known, map, oneOf, string } from "#schema/types.ts";
import { type ClusterObject, type Column, defineResource, type ObjectOf } from "../resource.ts";
import { validateParameters, validateProvisioner } from "./parameters.ts";
import { TopologySelectorTerm, validateTopologies, warnOfTopologies } from "./topology-selector.ts";

const reclaimPolicies = known("Delete", "Recycle", "Retain");
const bindingModes = oneOf("Immediate", "WaitForFirstConsumer");

const fields = {
  parameters: immutable(optional(3, map(string()), "Settings for the provisioner, by name. Cannot be changed.")),
  provisioner: immutable(required(2, string(), "Name of the provisioner of the volumes. Cannot be changed.")),
  reclaimPolicy: immutable(
    inGo(
      { isPointer: true },
      defaulted(4, reclaimPolicies, "Delete", "Whether volumes are deleted or retained after use. Cannot be changed."),
    ),
  ),
  mountOptions: optional(5, atomicList(string()), "Options with which the volumes are mounted, such as ro."),
  allowVolumeExpansion: nullable(6, boolean(), "Whether claims of this class may ask for more after their creation."),
  volumeBindingMode: immutable(
    inGo(
      { isPointer: true },
      defaulted(7, bindingModes, "Immediate", "Whether claims are bound at once or for a pod. Cannot be changed."),
    ),
  ),
  allowedTopologies: optional(8, atomicList(TopologySelectorTerm), "Where volumes may be; anywhere if empty."),
};
export interface StorageClass extends ClusterObject<typeof fields> {}

const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** Whether claims that name no class get this one. */
export const isDefaultClass = ({ metadata: { annotations } }: { metadata: Pick<ObjectMeta, "annotations"> }): boolean =>
  defaultAnnotations.some((name) => annotations?.[name] === "true");

const nameColumn: Column<ObjectOf<typeof fields>> = {
  ...column("Name", "Name of the class, and whether it is the default.", (storageClass) => {
    const { name } = storageClass.metadata;
    return isDefaultClass(storageClass) ? `${name} (default)` : name;
  }),
  format: "name",
};

export const StorageClass = defineResource("storage.k8s.io/v1.StorageClass", fields, {
  doc: "Describes a class of volumes, and how they are provisioned.",
  shortNames: ["sc"],
  scope: "Cluster",
  returnsDeleted: true,
  columns: [
    nameColumn,
    column("Provisioner", "Name of the provisioner.", ({ provisioner }) => provisioner),
    column("ReclaimPolicy", "What happens to volumes after use.", ({ reclaimPolicy }) => reclaimPolicy),
    column("VolumeBindingMode", "When claims are bound.", ({ volumeBindingMode }) => volumeBindingMode),
    column("AllowVolumeExpansion", "Whether claims may grow.", (sc) => sc.allowVolumeExpansion ?? false),
    ageColumn,
  ],

  validate(at) {
    validateProvisioner(at.field("provisioner"));
    validateParameters(at.field("parameters"));
    // An empty text is a policy to upstream, and one that nobody knows.
    if (at.value.reclaimPolicy !== "") at.field("reclaimPolicy").oneOf(["Delete", "Retain"]);
    validateTopologies(at);
  },
  warnings: warnOfTopologies,
});
