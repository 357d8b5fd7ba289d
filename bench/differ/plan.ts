import { Random } from "#testing/arbitrary.ts";
import { planDiscovery } from "./plan-discovery.ts";
import { planFields } from "./plan-fields.ts";
import { planForms } from "./plan-forms.ts";
import { planMetadata } from "./plan-metadata.ts";
import { planVerbs } from "./plan-verbs.ts";
import { allSamples } from "./samples/all.ts";
import { type Script } from "./step.ts";
import { targetOf } from "./target.ts";

/** All requests of a run; the first script prepares what the others need. The same seed gives the same requests. */
export function planAll({ seed, perKind, label }: { seed: number; perKind: number; label: string }): readonly Script[] {
  const random = new Random(seed);
  const namespace = label;
  const make = (suffix: string) =>
    allSamples.map((sample) => targetOf(sample, { namespace, label: `${label}${suffix}` }));
  return [
    planNamespace(namespace),
    ...planDiscovery(),
    ...make("o").map(planForms),
    ...make("m").map(planMetadata),
    ...make("f").map((target) => planFields(target, { random, count: perKind })),
    ...planAllVerbs(namespace),
  ];
}

/** Each has a label of its own, because two versions of a kind are the same objects, and a collection is deleted by label. */
function planAllVerbs(namespace: string): Script[] {
  return allSamples.flatMap((sample, index) => {
    const label = `${namespace}v${index}`;
    const target = targetOf(sample, { namespace, label });
    return target.isStored ? [planVerbs(target, label)] : [];
  });
}

/** The service account, which controllers would make, is what pods need. */
function planNamespace(namespace: string): Script {
  const metadata = { name: namespace };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } };
  return {
    name: "prepare",
    steps: [
      {
        name: "namespace",
        method: "POST",
        path: "/api/v1/namespaces",
        body: { apiVersion: "v1", kind: "Namespace", metadata },
      },
      { name: "account", method: "POST", path: `/api/v1/namespaces/${namespace}/serviceaccounts`, body: account },
    ],
  };
}
