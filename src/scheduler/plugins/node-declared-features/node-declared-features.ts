import { type Pod } from "#api/core/pod.ts";
import { equal } from "#lib/data/equal.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../../framework.ts";

const unmet = rejectFinally("node(s) didn't match Pod's required features");

/** Requires nodes whose kubelet declares the features that the pod needs. Few pods need any. */
export const nodeDeclaredFeatures: SchedulerPlugin = {
  name: "NodeDeclaredFeatures",
  retryOn: {
    node: (_pod, { change, object, previous }) =>
      change !== "deleted" &&
      (!previous || !equal(object.status?.declaredFeatures ?? [], previous.status?.declaredFeatures ?? [])),
  },

  looksAt: (pod) => featuresOf(pod),

  preFilter(pod) {
    const needed = featuresOf(pod);
    return needed.length > 0 ? needed : undefined;
  },

  filter(_pod, { node }, state) {
    const declared = node?.status?.declaredFeatures ?? [];
    return (state as readonly string[]).every((feature) => declared.includes(feature)) ? fits : unmet;
  },
};

/** The features that upstream's kubelets declare and that matter before a pod is on its node. */
function featuresOf({ spec }: Pod): readonly string[] {
  const needed: string[] = [];
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const restartsAll = ({ restartPolicyRules = [] }: (typeof containers)[number]): boolean =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers");
  if (containers.some(restartsAll)) needed.push("RestartAllContainersOnContainerExits");
  if (spec.hostNetwork && spec.hostUsers === false) needed.push("UserNamespacesHostNetworkSupport");
  return needed;
}
