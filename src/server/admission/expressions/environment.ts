import { type Environment } from "#cel/declare/environment.ts";
import { fixedStruct } from "#cel/types/fixed-struct.ts";
import { boolType, dynType, intType, listType, mapType, stringType, timestampType } from "#cel/types/type.ts";
import { authorizerType, resourceCheckType } from "#cel-kubernetes/authorizer.ts";
import { kubernetesEnvironment } from "#cel-kubernetes/environment.ts";
import { patchTypes } from "#cel-kubernetes/patch-types.ts";

const texts = listType(stringType);
const labels = mapType(stringType, stringType);

const kindType = fixedStruct("kubernetes.GroupVersionKind", {
  group: stringType,
  version: stringType,
  kind: stringType,
});
const resourceType = fixedStruct("kubernetes.GroupVersionResource", {
  group: stringType,
  version: stringType,
  resource: stringType,
});

export const requestType = fixedStruct("kubernetes.AdmissionRequest", {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: fixedStruct("kubernetes.UserInfo", {
    username: stringType,
    uid: stringType,
    groups: texts,
    extra: mapType(stringType, texts),
  }),
  dryRun: boolType,
  options: dynType,
});

/** The parts of a namespace that expressions see. */
export const namespaceType = fixedStruct("kubernetes.Namespace", {
  metadata: fixedStruct("kubernetes.NamespaceMetadata", {
    name: stringType,
    generateName: stringType,
    namespace: stringType,
    labels,
    annotations: labels,
    // With this spelling upstream, too, so nobody can have used it.
    UID: stringType,
    creationTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    deletionTimestamp: timestampType,
    generation: intType,
    resourceVersion: stringType,
    finalizers: texts,
  }),
  spec: fixedStruct("kubernetes.NamespaceSpec", { finalizers: texts }),
  status: fixedStruct("kubernetes.NamespaceStatus", {
    conditions: listType(
      fixedStruct("kubernetes.NamespaceCondition", {
        status: stringType,
        type: stringType,
        lastTransitionTime: timestampType,
        message: stringType,
        reason: stringType,
      }),
    ),
    phase: stringType,
  }),
});

/** What some expressions may use and others may not. */
export interface Extras {
  readonly params: boolean;
  readonly authorizer: boolean;
  /** The types of what changes an object. */
  readonly patches?: boolean;
}

const known = new Map<string, Environment>();

/** What the expressions of policies and of match conditions may use. There is one for each choice of extras. */
export function admissionEnvironment({ params, authorizer, patches = false }: Extras): Environment {
  const key = `${params} ${authorizer} ${patches}`;
  let environment = known.get(key);
  if (!environment) {
    environment = kubernetesEnvironment().extend({
      ...(patches ? patchTypes : {}),
      variables: {
        object: dynType,
        oldObject: dynType,
        namespaceObject: namespaceType,
        request: requestType,
        ...(params ? { params: dynType } : {}),
        ...(authorizer ? { authorizer: authorizerType, "authorizer.requestResource": resourceCheckType } : {}),
      },
    });
    known.set(key, environment);
  }
  return environment;
}
