import { validateRequirements } from "#api/core/container/validate-resources.ts";
import { Toleration } from "#api/core/pod/affinity.ts";
import { replacedLabels } from "#api/core/pod/pod-warnings.ts";
import { tolerationKey } from "#api/core/pod/validate/validate-pod-update.ts";
import { validateToleration } from "#api/core/pod/validate/validate-tolerations.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { validateLabels } from "#api/meta/label-selector.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { immutable, nullable, optional, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, map, quantity, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource } from "../resource.ts";

const object = inPackage("node/v1");

const Overhead = object("Overhead", "What running a pod with a RuntimeClass takes besides its containers.", {
  podFixed: optional(
    1,
    map(quantity()),
    "Amount of each resource that every pod of the RuntimeClass takes in addition.",
  ),
});

const Scheduling = object("Scheduling", "The nodes that support a RuntimeClass.", {
  nodeSelector: optional(1, map(string(), { atomic: true }), "Labels of the nodes that support the RuntimeClass."),
  tolerations: optional(2, atomicList(Toleration), "Tolerations that are added to the pods of the RuntimeClass."),
});
interface Scheduling extends Infer<typeof Scheduling> {}

const fields = {
  handler: immutable(
    required(2, string(dns1123Label), "Configuration of the container runtime that runs the pods. Cannot be changed."),
  ),
  overhead: nullable(3, Overhead, "Resources that a pod of the RuntimeClass takes besides those of its containers."),
  scheduling: nullable(4, Scheduling, "Nodes that support the RuntimeClass; all nodes if absent."),
};
export interface RuntimeClass extends ClusterObject<typeof fields> {}

export const RuntimeClass = defineResource("node.k8s.io/v1.RuntimeClass", fields, {
  doc: "Names a configuration of the container runtime, which pods choose by runtimeClassName.",
  scope: "Cluster",
  conditionalUpdate: true,
  createOnUpdate: true,
  columns: [column("Handler", "Configuration of the container runtime.", ({ handler }) => handler), ageColumn],

  validate(runtimeClass) {
    runtimeClass.on("overhead", (at) => {
      const { podFixed } = at.value;
      // Upstream checks it as the limits of a container, and so names it in its faults.
      if (podFixed) validateRequirements(at.as({ limits: podFixed }), "container", new Set());
    });
    runtimeClass.on("scheduling", validateScheduling);
  },
  warnings(runtimeClass) {
    runtimeClass.on("scheduling", (at) =>
      at.on("nodeSelector", (at) => {
        for (const key of Object.keys(at.value)) {
          const text = replacedLabels.get(key);
          if (text) at.warn(text);
        }
      }),
    );
  },
});

function validateScheduling(at: Cursor<Scheduling>): void {
  at.on("nodeSelector", validateLabels);
  at.each("tolerations", validateToleration);
  const seen = new Set<string>();
  at.each("tolerations", (at) => {
    const key = tolerationKey(at.value);
    if (seen.has(key)) at.duplicate(inGoForm(at.value));
    seen.add(key);
  });
}

/** Upstream shows a whole toleration with the names that it has in Go. */
function inGoForm({ key = "", operator = "", value = "", effect, tolerationSeconds }: Toleration): object {
  return {
    Key: key,
    Operator: operator,
    Value: value,
    Effect: effect ?? "",
    TolerationSeconds: tolerationSeconds ?? null,
  };
}
