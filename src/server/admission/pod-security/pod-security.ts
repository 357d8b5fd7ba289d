import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { internalError } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { findNamespace } from "../find-namespace.ts";
import { isAbout, isWriteOf, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { defaultPodSecurity, type PodSecurityConfig } from "./config.ts";
import { labelPrefix, type ReadPolicy, readPolicy } from "./levels.ts";
import { validateNamespace } from "./namespace-labels.ts";
import { holdsPod, isSignificantUpdate, podIn } from "./pod-in.ts";

export interface PodSecurityDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly client?: Pick<Client, "get">;
  readonly podSecurity?: PodSecurityConfig | undefined;
}

/** Holds pods to the pod security standard that their namespace asks for by its labels. */
export function podSecurity(deps: PodSecurityDeps): AdmissionPlugin {
  const { podSecurity: config = defaultPodSecurity } = deps;
  const pods = deps.informers.of(Pod);
  const namespaces = deps.informers.of(Namespace);
  return {
    name: "PodSecurity",
    appliesTo: (request) =>
      (request.operation === "CREATE" || request.operation === "UPDATE") &&
      (holdsPod(request) || isWriteOf(Namespace, request)),

    validate(request) {
      if (isAbout(Namespace, request)) return validateNamespace(request, { config, pods, clock: deps.clock });
      const exempt = exemptionOf(request, config);
      if (exempt) return request.annotate(`${labelPrefix}exempt`, exempt);
      const found = findNamespace({ namespaces, client: deps.client }, request);
      return found instanceof Promise
        ? found.then(
            (namespace) => check(request, namespace, config),
            (cause) => check(request, lost(request, cause), config),
          )
        : check(request, found ?? lost(request), config);
    },
  };
}

function exemptionOf({ namespace, user }: AdmissionRequest, { exemptions }: PodSecurityConfig): string | undefined {
  if (exemptions.namespaces.has(namespace)) return "namespace";
  return exemptions.usernames.has(user.name) ? "user" : undefined;
}

/** Without its namespace nobody knows what a pod may do. A template only gets no warning. */
function lost(request: AdmissionRequest, cause?: unknown): undefined {
  const why = `failed to lookup namespace ${JSON.stringify(request.namespace)}`;
  if (isAbout(Pod, request)) throw internalError(new Error(why, { cause }));
  request.annotate(`${labelPrefix}error`, why);
}

function check(
  request: AdmissionRequest,
  namespace: Namespace | undefined,
  config: PodSecurityConfig,
): void | Promise<void> {
  if (!namespace) return;
  const asked = readPolicy(namespace.metadata.labels, config.defaults);
  if (isUnrestricted(request, asked)) {
    if (isAbout(Pod, request)) request.annotate(`${labelPrefix}enforce-policy`, "privileged:latest");
    return;
  }
  const [pod, old] = [objectOf(Pod, request), oldObjectOf(Pod, request)];
  if (pod && old && !isSignificantUpdate(pod, old)) return;
  const { metadata, spec } = podIn(request) ?? {};
  if (!metadata || !spec) return;
  if (spec.runtimeClassName && config.exemptions.runtimeClasses.has(spec.runtimeClassName)) {
    return request.annotate(`${labelPrefix}exempt`, "runtimeClass");
  }
  return judge(request, { metadata, spec, asked });
}

/** Templates are never refused, only the pods that are made of them. */
function isUnrestricted(request: AdmissionRequest, { policy: { enforce, audit, warn }, faults }: ReadPolicy): boolean {
  const modes = isAbout(Pod, request) ? [enforce, audit, warn] : [audit, warn];
  return faults.length === 0 && modes.every(({ level }) => level === "privileged");
}

type Judge = typeof import("./judge.ts").judge;
let loaded: Judge | undefined;

/** The checks are loaded when a namespace first asks for them. */
function judge(...args: Parameters<Judge>): void | Promise<void> {
  if (loaded) return loaded(...args);
  return import("./judge.ts").then((module) => {
    loaded = module.judge;
    return loaded(...args);
  });
}
