import { type NodeSelector } from "#api/core/pod/affinity.ts";
import { validateNodeSelector } from "#api/core/pod/validate/validate-affinity.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";

interface NodeChoice {
  readonly nodeName?: string;
  readonly nodeSelector?: NodeSelector;
  readonly allNodes?: boolean;
}

interface Wanted {
  /** What is wrong with an empty name. */
  readonly emptyName: string;
  /** Whether the selector must be a single term, so that selectors of several slices can be merged. */
  readonly oneTerm?: boolean;
}

/** Checks the ways to say which nodes have a device, and returns those that are used, as upstream shows them. */
export function chosenNodes(at: Cursor<NodeChoice>, { emptyName, oneTerm = false }: Wanted): string[] {
  const { nodeName, nodeSelector, allNodes } = at.value;
  if (nodeName) at.field("nodeName").rule(dns1123Subdomain);
  else if (nodeName === "") at.field("nodeName").invalid(emptyName);
  at.on("nodeSelector", (at) => {
    validateNodeSelector(at);
    const terms = at.field("nodeSelectorTerms");
    if (oneTerm && terms.value.length !== 1) terms.invalid("must have exactly one node selector term");
  });
  if (allNodes === false) at.field("allNodes").invalid("must be either unset or set to true");
  return [
    ...(nodeName ? ["`nodeName`"] : []),
    ...(nodeSelector ? ["`nodeSelector`"] : []),
    ...(allNodes ? ["`allNodes`"] : []),
  ];
}
