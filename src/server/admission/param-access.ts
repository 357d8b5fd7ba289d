import { MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/mutating-admission-policy-binding.ts";
import { type ParamKind, type ParamRef } from "#api/admissionregistration/params.ts";
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { allResources } from "#api/all.ts";
import { apiVersionOf, groupOf } from "#api/resource.ts";
import { invalid, type StatusError } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informers } from "#runtime/informer.ts";
import { forbiddenValue } from "#schema/field-error.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { privilegedGroup } from "#server/authorize/privileged.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { isWriteOf, objectOf, oldObjectOf } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";

export interface ParamAccessDeps {
  readonly informers: Informers;
  readonly authorizers: readonly Authorizer[];
}

const policies = [ValidatingAdmissionPolicy, MutatingAdmissionPolicy] as const;
const bindings = [ValidatingAdmissionPolicyBinding, MutatingAdmissionPolicyBinding] as const;
const guarded = [...policies, ...bindings];

/**
 * Only who may read the parameters of a policy may name them. What a policy answers depends on its parameters, so it
 * would otherwise tell its author what is in them.
 */
export function paramAccess({ informers, authorizers }: ParamAccessDeps): AdmissionPlugin {
  const known = policies.map((policy) => informers.of<ValidatingAdmissionPolicy | MutatingAdmissionPolicy>(policy));
  return {
    name: "ParamAccess",
    runs: "always",
    // Every write comes by here, and most are of another group.
    appliesTo: (request) =>
      request.resource.group === ValidatingAdmissionPolicy.group && guarded.some((one) => isWriteOf(one, request)),
    async validate(request) {
      if (request.user.groups.includes(privilegedGroup)) return;
      for (const policy of policies) {
        const { paramKind } = objectOf(policy, request)?.spec ?? {};
        const isNew = !equal(paramKind, oldObjectOf(policy, request)?.spec.paramKind);
        if (paramKind && isNew) await checkKind(authorizers, request, paramKind);
      }
      for (const [index, binding] of bindings.entries()) {
        const spec = objectOf(binding, request)?.spec;
        const old = oldObjectOf(binding, request)?.spec;
        if (!spec?.paramRef || (equal(spec.paramRef, old?.paramRef) && spec.policyName === old?.policyName)) continue;
        const policy = known[index]?.get({ name: spec.policyName ?? "" });
        await checkRef(authorizers, request, { paramRef: spec.paramRef, policyName: spec.policyName ?? "", policy });
      }
    },
  };
}

async function checkKind(
  authorizers: readonly Authorizer[],
  request: AdmissionRequest,
  paramKind: ParamKind,
): Promise<void> {
  if (await may(authorizers, request, { ...targetOf(paramKind), verb: "get", namespace: "*", name: "*" })) return;
  const { kind = "", apiVersion = "" } = paramKind;
  const what = `(kind=${kind}, apiVersion=${apiVersion})`;
  const { name } = request.user;
  const text = `user ${name} must have "get" permission on all objects of the referenced paramKind ${what}`;
  throw refusedField(request, "spec.paramKind", text);
}

interface Reference {
  readonly paramRef: ParamRef;
  readonly policyName: string;
  readonly policy: ValidatingAdmissionPolicy | MutatingAdmissionPolicy | undefined;
}

async function checkRef(authorizers: readonly Authorizer[], request: AdmissionRequest, at: Reference): Promise<void> {
  const { paramRef, policyName, policy } = at;
  const verb = paramRef.name ? "get" : "list";
  const target = targetOf(policy?.spec.paramKind);
  const { namespace = "", name = "" } = paramRef;
  if (await may(authorizers, request, { ...target, verb, namespace, name })) return;
  const lacking = `user ${request.user.name} does not have "${verb}" permission`;
  const needsAll = `to determine minimum required permissions and ${lacking} for all groups, versions and resources`;
  const { apiVersion = "", kind = "" } = policy?.spec.paramKind ?? {};
  const text = !policy
    ? `unable to get policy ${policyName} ${needsAll}`
    : kind && target.resource === "*"
      ? `unable to resolve paramKind {${apiVersion} ${kind}} ${needsAll}`
      : `${lacking} on the object referenced by paramRef`;
  throw refusedField(request, "spec.paramRef", text);
}

type Target = Pick<RequestInfo, "group" | "version" | "resource">;

/** The resource with the parameters. Of what is not known, the caller needs access to everything. */
function targetOf(paramKind: ParamKind | undefined): Target {
  const { apiVersion, kind } = paramKind ?? {};
  if (!apiVersion) return { group: "*", version: "*", resource: "*" };
  const group = groupOf(apiVersion);
  const version = apiVersion.slice(group ? group.length + 1 : 0);
  const found = allResources.find((resource) => resource.kind === kind && apiVersionOf(resource) === apiVersion);
  return { group, version, resource: found?.plural ?? "*" };
}

async function may(
  authorizers: readonly Authorizer[],
  { user }: AdmissionRequest,
  what: Target & Pick<RequestInfo, "verb" | "namespace" | "name">,
): Promise<boolean> {
  const { verdict } = await decide(authorizers, user, { ...blankRequestInfo, isResource: true, ...what });
  return verdict === "allow";
}

const refusedField = ({ resource, object }: AdmissionRequest, path: string, text: string): StatusError =>
  invalid(resource, object?.metadata.name ?? "", [forbiddenValue(path, text)]);
