import { Node } from "#api/core/node.ts";
import { notReadyTaint } from "#api/well-known.ts";
import { isAbout, objectOf } from "./object-of.ts";
import { type AdmissionPlugin } from "./plugin.ts";

const effect = "NoSchedule";

/** Keeps pods off a new node until it is ready. */
export const taintNodes: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  appliesTo: (request) => request.operation === "CREATE" && request.subresource === "" && isAbout(Node, request),

  mutate(request) {
    const node = objectOf(Node, request);
    if (!node) return;
    const taints = node.spec.taints ?? [];
    if (!taints.some((taint) => taint.key === notReadyTaint && taint.effect === effect)) {
      node.spec.taints = [...taints, { key: notReadyTaint, effect }];
    }
  },
};
