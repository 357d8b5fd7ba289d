import { type Binding } from "#api/core/binding.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type SchedulerPlugin } from "../framework.ts";

/** Writes the decision to the pod's binding subresource. */
export const defaultBinder = (client: Client): SchedulerPlugin => ({
  name: "DefaultBinder",

  async bind(pod, nodeName, signal) {
    const { name, namespace, uid } = pod.metadata;
    const binding: InputOf<Binding> = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name, namespace, uid } as Binding["metadata"],
      target: { kind: "Node", name: nodeName },
    };
    await client.createSubresource(Pod as unknown as Resource, pod, "binding", binding, { signal });
    return true;
  },
});
