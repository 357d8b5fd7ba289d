import { Pod } from "#api/core/pod.ts";
import { notReadyTaint, unreachableTaint } from "#api/well-known.ts";
import { isWriteOf, objectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";

const taints = [notReadyTaint, unreachableTaint];
const tolerationSeconds = 300;

/**
 * Lets every pod stay for five minutes on a node that is not ready or unreachable, unless it has its own tolerations.
 */
export const defaultTolerations: AdmissionPlugin = {
  name: "DefaultTolerationSeconds",
  appliesTo: (request) => isWriteOf(Pod, request),

  mutate(request) {
    const pod = objectOf(Pod, request);
    if (!pod) return;
    const given = pod.spec.tolerations ?? [];
    const missing = taints.filter(
      (taint) => !given.some(({ key, effect }) => (!key || key === taint) && (!effect || effect === "NoExecute")),
    );
    if (missing.length === 0) return;
    const added = missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds }) as const);
    pod.spec.tolerations = [...given, ...added];
  },
};
