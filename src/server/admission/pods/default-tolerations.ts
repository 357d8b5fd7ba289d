import { type Toleration } from "#api/core/pod/affinity.ts";
import { Pod } from "#api/core/pod.ts";
import { notReadyTaint, unreachableTaint } from "#api/well-known.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { isWriteOf, objectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";

/** All pods share these objects. */
const tolerations: readonly Toleration[] = deepFreeze(
  [notReadyTaint, unreachableTaint].map(
    (key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }) as const,
  ),
);

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
    const missing = tolerations.filter(
      ({ key: taint }) =>
        !given.some(({ key, effect }) => (!key || key === taint) && (!effect || effect === "NoExecute")),
    );
    if (missing.length > 0) pod.spec.tolerations = [...given, ...missing];
  },
};
