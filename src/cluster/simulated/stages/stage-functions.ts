import { builtins } from "#lib/template/builtins.ts";
import { type TemplateFunctions, takes } from "#lib/template/function.ts";
import { library } from "#lib/template/library.ts";
import { isTrue, jsonOf, read, textOf, type Value } from "#lib/template/values.ts";
import { goQuote } from "#lib/text/go-quote.ts";
import { blockYaml } from "#lib/yaml/block-yaml.ts";

/** What templates of stages ask for while they are rendered. */
export interface StageScope {
  /** RFC 3339. */
  readonly now: string;
  readonly startTime: string;
  readonly version: string;
  /** The node that the object is, or that the pod is on. */
  readonly nodeName: string;
  readonly nodePort: number;
  readonly uid: string;
  /** The addresses of a node. */
  nodeIPs(name: string): readonly string[];
  /** The addresses of a pod, the same each time. */
  podIPs(pod: { readonly node: string; readonly isOnHost: boolean; readonly uid: string }): readonly string[];
}

/** The functions that kwok adds for all kinds. */
const forAll: TemplateFunctions<StageScope> = {
  ...library,
  ...builtins,
  Quote: takes(1, ([value = null]) => quoted(value)),
  Now: takes(0, (_, __, { now }: StageScope) => now),
  StartTime: takes(0, (_, __, { startTime }: StageScope) => startTime),
  Version: takes(0, (_, __, { version }: StageScope) => version),
  YAML: takes(1, ([value = null, indent = null]) => yaml(value, indent), 2),
  NodeConditions: takes(0, () => healthy),
};

const nodeIP = takes(0, (_, __, { nodeIPs, nodeName }: StageScope) => nodeIPs(nodeName)[0] ?? "");

const forNodes: TemplateFunctions<StageScope> = {
  NodeIP: nodeIP,
  NodeName: takes(0, (_, __, { nodeName }: StageScope) => nodeName),
  NodePort: takes(0, (_, __, { nodePort }: StageScope) => nodePort),
};

const forPods: TemplateFunctions<StageScope> = {
  NodeIP: nodeIP,
  NodeIPWith: takes(1, ([node = null], _, { nodeIPs }: StageScope) => nodeIPs(text(node))[0] ?? ""),
  NodeIPsWith: takes(1, ([node = null], _, { nodeIPs }: StageScope) => nodeIPs(text(node))),
  PodIP: takes(
    0,
    (_, __, { podIPs: of, nodeName, uid }: StageScope) => of({ node: nodeName, isOnHost: false, uid })[0] ?? "",
  ),
  PodIPWith: takes(5, (pod, _, scope: StageScope) => podIPs(pod, scope)[0] ?? ""),
  PodIPsWith: takes(5, (pod, _, scope: StageScope) => podIPs(pod, scope)),
};

/** What templates about this kind may call. */
export function functionsFor(apiVersion: string, kind: string): TemplateFunctions<StageScope> {
  if (apiVersion !== "v1") return forAll;
  if (kind === "Pod") return { ...forAll, ...forPods };
  return kind === "Node" ? { ...forAll, ...forNodes } : forAll;
}

const text = (value: Value): string => textOf(value) ?? "";

/** Everything as a text in quotes: a text as JSON, anything else as its JSON in a text. */
function quoted(value: Value): string {
  const json = jsonOf(value);
  return json.startsWith('"') ? json : goQuote(json);
}

/** With an indent, on lines of its own. */
function yaml(value: Value, indent: Value): string {
  const block = blockYaml(value);
  const levels = typeof indent === "number" ? Math.min(50, indent) : 0;
  return levels > 0 ? `\n${block}`.replaceAll("\n", `\n${"  ".repeat(levels)}`) : block;
}

const podIPs = ([node = null, isOnHost = null, uid = null]: readonly Value[], scope: StageScope): readonly string[] =>
  scope.podIPs({ node: text(node), isOnHost: isTrue(read(isOnHost)), uid: text(uid) });

const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
});
/** The conditions of a node that is well, with upstream's words. */
const healthy = [
  condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
  condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
  condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
  condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
  condition("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
];
