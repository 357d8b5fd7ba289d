import { isExtendedResource } from "#api/core/container/resource-list.ts";
import { ageColumn } from "#api/meta/columns.ts";
import { nullable, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, string } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { eachUpTo } from "./bounded-lists.ts";
import { configurationFields, DeviceSelector, validateConfiguration, validateSelectors } from "./device-selector.ts";

const object = inPackage("resource/v1");

const DeviceClassConfiguration = object("DeviceClassConfiguration", "Settings for the devices of a class.", {
  ...configurationFields(1),
});

const fields = {
  spec: object.present(2, "DeviceClassSpec", "Which devices belong to a class, and their settings.", {
    selectors: optional(1, atomicList(DeviceSelector), "Conditions that all devices of the class meet, at most 32."),
    config: optional(2, atomicList(DeviceClassConfiguration), "Settings for every device of the class, at most 32."),
    extendedResourceName: nullable(
      4,
      string(),
      "Extended resource, such as example.com/gpu, that a pod can request to get a device of the class.",
    ),
  }),
};
export interface DeviceClass extends ClusterObject<typeof fields> {}

export const DeviceClass = defineResource("resource.k8s.io/v1.DeviceClass", fields, {
  doc: "Devices that claims can request by one name, and settings for them.",
  scope: "Cluster",
  hasGeneration: true,
  returnsDeleted: true,
  columns: [ageColumn],
  indexes: { extendedResource: ({ spec: { extendedResourceName: name } }) => (name ? [name] : []) },

  validate(deviceClass) {
    const at = deviceClass.field("spec");
    validateSelectors(at.field("selectors"));
    eachUpTo(at.field("config"), 32, validateConfiguration);
    at.on("extendedResourceName", (at) => {
      if (!isExtendedResource(at.value)) at.invalid("must be a valid extended resource name");
    });
  },
});
