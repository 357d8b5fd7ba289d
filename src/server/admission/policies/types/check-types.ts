import { type ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";
import { dynType, type Type } from "#cel/types/type.ts";
import { authorizerType } from "#cel-kubernetes/authorizer.ts";
import { kubernetesEnvironment } from "#cel-kubernetes/environment.ts";
import { kindType } from "#cel-kubernetes/kind-type.ts";
import { declareSchema } from "#cel-kubernetes/schema-type.ts";
import { type Steps } from "#lib/async/turns.ts";
import { root } from "#schema/field-error.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type Expression, PolicyCompiler } from "../../expressions/compile-expression.ts";
import { namespaceType, requestType } from "../../expressions/environment.ts";

export interface ExpressionWarning {
  fieldRef: string;
  warning: string;
}

/** More warnings would make the policy too large to be stored. */
const maxWarnings = 100;
const maxWarningCharacters = 10_000;

/** What is wrong with the expressions of a policy for the kinds that it is about. In steps, because it takes a while. */
export function* checkTypes(
  resources: ResourceRegistry,
  { spec }: ValidatingAdmissionPolicy,
): Steps<ExpressionWarning[]> {
  const texts = new Map<string, string>();
  for (const resource of kindsOf(resources, spec.matchConstraints?.resourceRules ?? [])) {
    const compiler = compilerFor(resources, resource, spec);
    for (const { name, expression } of spec.variables ?? []) yield void compiler.addVariable(name, expression);
    for (const { path, source } of expressionsOf(spec)) {
      const text = issuesOf(compiler.compile(source, "anything"));
      yield;
      if (text === undefined) continue;
      const shown = `${resource.group}/${resource.version}, Kind=${resource.kind}: ${text}\n`;
      const known = texts.get(path);
      texts.set(path, known === undefined ? shown : `${known}\n${shown}`);
    }
  }
  const warnings: ExpressionWarning[] = [];
  for (const { path } of expressionsOf(spec)) {
    const text = texts.get(path);
    if (text !== undefined && warnings.length < maxWarnings) {
      warnings.push({ fieldRef: path, warning: text.slice(0, maxWarningCharacters) });
    }
  }
  return warnings;
}

type Spec = ValidatingAdmissionPolicy["spec"];

/** As upstream, conditions, variables and annotations are not checked for themselves. */
function* expressionsOf({ validations = [] }: Spec): Iterable<{ readonly path: string; readonly source: string }> {
  const at = root.child("spec", "validations");
  for (const [index, { expression, messageExpression }] of validations.entries()) {
    const path = at.index(index);
    yield { path: String(path.child("expression")), source: expression };
    if (messageExpression) yield { path: String(path.child("messageExpression")), source: messageExpression };
  }
}

const issuesOf = ({ fault }: Expression): string | undefined => fault?.replace(/^compilation failed: /, "");

function compilerFor(resources: ResourceRegistry, resource: Resource, { paramKind }: Spec): PolicyCompiler {
  const object = typeOf(resource);
  const { apiVersion = "", kind } = paramKind ?? {};
  const params = resources.ofGroupVersion(apiVersion).find((one) => one.kind === kind);
  const variables = {
    object,
    oldObject: object,
    namespaceObject: namespaceType,
    request: requestType,
    authorizer: authorizerType,
    ...(paramKind ? { params: params ? typeOf(params) : dynType } : {}),
  };
  return new PolicyCompiler({
    hasParams: paramKind !== undefined,
    environment: kubernetesEnvironment().extend({ variables }),
  });
}

/** A custom resource has the schema that its author wrote. */
function typeOf(resource: Resource): Type {
  if (!resource.definition) return kindType(resource.schema);
  return declareSchema(resource.definition, `${apiVersionOf(resource)}.${resource.kind}`, true)?.type ?? dynType;
}

const maxKinds = 10;

/** The kinds that rules without wildcards name, in the order of group, version and kind. */
export function kindsOf(
  resources: ResourceRegistry,
  rules: NonNullable<NonNullable<Spec["matchConstraints"]>["resourceRules"]>,
): Resource[] {
  const found = new Map<string, Resource>();
  for (const { apiGroups = [], apiVersions = [], resources: plurals = [] } of rules) {
    if ([...apiGroups, ...apiVersions].some((text) => text.includes("*"))) continue;
    const [groups, versions, names] = [new Set(apiGroups), new Set(apiVersions), new Set(plurals)];
    // The rules may have more combinations than there are kinds.
    for (const resource of resources.all()) {
      if (!groups.has(resource.group) || !versions.has(resource.version) || !names.has(resource.plural)) continue;
      found.set(orderOf(resource), resource);
    }
  }
  const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.slice(0, maxKinds).map(([, resource]) => resource);
}

const orderOf = ({ group, version, kind }: Resource): string => [group, version, kind].join("\0");
