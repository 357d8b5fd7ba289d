import type { SimulatedNode } from "../simulated-nodes.ts";
import type { OwnNodes } from "./stage-nodes.ts";

/** The simulated nodes of this process, which the list gets before the stages run. */
export function ownNodesOf(nodes: readonly SimulatedNode[]): OwnNodes {
  const byName = new Map(nodes.map((node) => [node.name, node] as const));
  return {
    isRunning: (name) => byName.get(name)?.isRunning ?? false,
    addressOf: (name) => byName.get(name)?.address,
    subscribe(started) {
      const ends = nodes.map((node) => node.onStart(started));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
