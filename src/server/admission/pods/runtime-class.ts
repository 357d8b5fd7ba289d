import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { tolerationKey } from "#api/core/pod/validate/validate-pod-update.ts";
import { Pod } from "#api/core/pod.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { RuntimeClass } from "#api/node/runtime-class.ts";
import { own } from "#lib/data/own.ts";
import { type Informers } from "#runtime/informer.ts";
import { isWriteOf, objectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** Gives a new pod the overhead and the nodes of its RuntimeClass, which must exist. */
export const runtimeClass = ({ informers }: { readonly informers: Informers }): AdmissionPlugin => ({
  name: "RuntimeClass",
  appliesTo: (request) => isWriteOf(Pod, request) && request.operation === "CREATE",

  mutate(request) {
    const pod = objectOf(Pod, request);
    const chosen = pod && classOf(request, pod, informers);
    if (!chosen) return;
    const { overhead, scheduling } = chosen;
    if (overhead) {
      if (pod.spec.overhead) checkOverhead(request, pod.spec, overhead.podFixed);
      pod.spec.overhead = { ...overhead.podFixed };
    }
    if (scheduling) setNodes(request, pod.spec, scheduling);
  },

  validate(request) {
    const pod = objectOf(Pod, request);
    if (!pod?.spec.overhead) return;
    const overhead = classOf(request, pod, informers)?.overhead;
    if (overhead) checkOverhead(request, pod.spec, overhead.podFixed);
    else throw refusal(request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  },
});

function classOf(request: AdmissionRequest, { spec }: Pod, informers: Informers): RuntimeClass | undefined {
  const { runtimeClassName: name } = spec;
  if (!name) return undefined;
  const found = informers.of(RuntimeClass).get({ name });
  if (!found) throw refusal(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  return found;
}

type Amounts = Readonly<Record<string, string>>;

function checkOverhead(request: AdmissionRequest, { overhead = {} }: PodSpec, wanted: Amounts = {}): void {
  const names = new Set([...Object.keys(overhead), ...Object.keys(wanted)]);
  const isSame = (name: string): boolean => {
    const [mine, its] = [own(overhead, name), own(wanted, name)];
    return mine !== undefined && its !== undefined && compareQuantities(mine, its) === 0;
  };
  if ([...names].every(isSame)) return;
  throw refusal(request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
}

function setNodes(
  request: AdmissionRequest,
  spec: PodSpec,
  { nodeSelector, tolerations }: NonNullable<RuntimeClass["scheduling"]>,
): void {
  for (const [key, value] of Object.entries(nodeSelector ?? {})) {
    const mine = own(spec.nodeSelector ?? {}, key);
    if (mine === undefined || mine === value) continue;
    const pair = (where: string, text: string) => `${where}.nodeSelector[${key}] = ${text}`;
    throw refusal(request, `conflict: ${pair("runtimeClass.scheduling", value)}; ${pair("pod.spec", mine)}`);
  }
  if (nodeSelector) spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector };
  if (!tolerations) return;
  const all = [...(spec.tolerations ?? []), ...tolerations];
  spec.tolerations = [...new Map(all.toReversed().map((one) => [tolerationKey(one), one])).values()].reverse();
}
