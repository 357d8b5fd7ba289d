import { type Binding } from "#api/core/binding.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf, type Resource } from "#api/resource.ts";
import type { CreatePlugin } from "#cluster/scheduling/load-plugin.ts";

/**
 * Binds pods of the scheduler `floor` to one node after another, as soon as they are seen: no queue, no decision. What a pod
 * costs this way is the least that a scheduler in this server can cost.
 */
const floor: CreatePlugin = ({ client, informers }) => ({
  follow() {
    const nodes = informers.of(Node);
    let names: readonly string[] = [];
    let next = 0;
    return informers.of(Pod).subscribe(({ type, object: pod }) => {
      if (type === "delete" || pod.spec.nodeName || pod.spec.schedulerName !== "floor") return;
      if (names.length === 0) names = [...nodes.list()].map(({ metadata }) => metadata.name);
      const { name, namespace, uid } = pod.metadata;
      const binding: InputOf<Binding> = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name, namespace, uid } as Binding["metadata"],
        target: { kind: "Node", name: names[next++ % names.length] ?? "" },
      };
      void client.createSubresource(Pod as unknown as Resource, pod, "binding", binding, {}).catch((error: unknown) => {
        process.stderr.write(`floor: ${error}\n`);
      });
    });
  },
});

export default floor;
