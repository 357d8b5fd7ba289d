import { replacedLabels } from "#api/core/pod/pod-warnings.ts";
import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { isNegativeQuantity } from "#api/meta/quantity.ts";
import { immutable, nullable, present } from "#schema/fields.ts";
import { quantity, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

const fields = {
  nodeTopology: immutable(nullable(2, LabelSelector, "Selects the nodes that can use the storage. Cannot be changed.")),
  storageClassName: immutable(present(3, string(), "Name of the StorageClass of the storage. Cannot be changed.")),
  capacity: nullable(4, quantity(), "How much storage is left; unknown if absent."),
  maximumVolumeSize: nullable(5, quantity(), "Size of the largest volume that can be created; unknown if absent."),
};
export interface CSIStorageCapacity extends NamespacedObject<typeof fields> {}

/** Upstream shows no columns of its own. */
export const CSIStorageCapacity = defineResource("storage.k8s.io/v1.CSIStorageCapacity", fields, {
  doc: "How much storage of a class is left for some of the nodes, as a CSI driver has measured it.",
  conditionalUpdate: true,
  indexes: { class: ({ storageClassName }) => [storageClassName] },

  validate(at) {
    at.on("nodeTopology", validateLabelSelector);
    at.field("storageClassName").rule(dns1123Subdomain);
    at.on("capacity", (at) => {
      if (isNegativeQuantity(at.value)) at.invalid("must be greater than or equal to 0");
    });
  },
  warnings: (at) => at.on("nodeTopology", warnOfLabels),
});

function warnOfLabels(selector: Cursor<LabelSelector>): void {
  selector.each("matchExpressions", (at) => {
    const text = replacedLabels.get(at.value.key);
    if (text) at.field("key").warn(`${at.value.key} is ${text}`);
  });
  for (const label of Object.keys(selector.value.matchLabels ?? {})) {
    const text = replacedLabels.get(label);
    if (text) selector.under("matchLabels", label).warn(text);
  }
}
