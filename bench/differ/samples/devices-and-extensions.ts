import { type Sample } from "./sample.ts";

const request = {
  name: "one",
  exactly: {
    deviceClassName: "gpu.example.com",
    allocationMode: "ExactCount",
    count: 2,
    selectors: [{ cel: { expression: "device.driver == 'gpu.example.com'" } }],
    tolerations: [{ key: "broken", operator: "Exists", effect: "NoSchedule" }],
  },
};
const claimSpec = {
  devices: {
    requests: [request],
    constraints: [{ requests: ["one"], matchAttribute: "gpu.example.com/model" }],
    config: [{ requests: ["one"], opaque: { driver: "gpu.example.com", parameters: { fast: true } } }],
  },
};

export const deviceSamples: readonly Sample[] = [
  {
    kind: "DeviceClass",
    body: {
      spec: {
        selectors: [{ cel: { expression: "device.driver == 'gpu.example.com'" } }],
        config: [{ opaque: { driver: "gpu.example.com", parameters: { fast: true } } }],
      },
    },
  },
  { kind: "ResourceClaim", body: { spec: claimSpec } },
  { kind: "ResourceClaimTemplate", body: { spec: { metadata: { labels: { a: "b" } }, spec: claimSpec } } },
  {
    kind: "ResourceSlice",
    body: {
      spec: {
        driver: "gpu.example.com",
        nodeName: "node",
        pool: { name: "pool", generation: 1, resourceSliceCount: 1 },
        devices: [
          {
            name: "gpu-0",
            attributes: {
              model: { string: "big" },
              cores: { int: 4 },
              ecc: { bool: true },
              driver: { version: "1.2.3" },
            },
            capacity: { memory: { value: "8Gi" } },
          },
        ],
      },
    },
  },
];

const crdSchema = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 9 },
        color: { type: "string", enum: ["red", "blue"], default: "red" },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        tags: { type: "array", items: { type: "string" }, maxItems: 3, "x-kubernetes-list-type": "set" },
      },
      "x-kubernetes-validations": [{ rule: "self.size < 8 || self.color == 'blue'", message: "large ones are blue" }],
    },
    status: { type: "object", properties: { ready: { type: "boolean" } } },
  },
};

export const extensionSamples: readonly Sample[] = [
  {
    kind: "CustomResourceDefinition",
    name: "gadgets.differ.example",
    body: {
      spec: {
        group: "differ.example",
        scope: "Namespaced",
        names: { plural: "gadgets", singular: "gadget", kind: "Gadget", shortNames: ["gd"], categories: ["all"] },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: crdSchema },
            subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
            additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
            selectableFields: [{ jsonPath: ".spec.color" }],
          },
        ],
      },
    },
  },
];
