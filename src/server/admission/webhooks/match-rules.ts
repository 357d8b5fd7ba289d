import { type AdmissionRequest } from "../plugin.ts";
import { type Webhook } from "./hook.ts";
import { namespaceOf, type View } from "./view.ts";

type Rule = NonNullable<Webhook["rules"]>[number];

/** Whether one of the rules is about this request, in this version. */
export function matchesRules(rules: readonly Rule[] | undefined, request: AdmissionRequest, view: View): boolean {
  return rules?.some((rule) => matchesRule(rule, request, view)) ?? false;
}

function matchesRule(rule: Rule, request: AdmissionRequest, { operation, resource }: View): boolean {
  return (
    isIn(rule.operations, operation) &&
    isIn(rule.apiGroups, resource.group) &&
    isIn(rule.apiVersions, resource.version) &&
    isInScope(rule, request) &&
    (rule.resources ?? []).some((text) => isResource(text, resource.plural, request.subresource))
  );
}

const isIn = (list: readonly string[] | undefined, wanted: string): boolean =>
  list?.some((one) => one === "*" || one === wanted) ?? false;

function isInScope({ scope }: Rule, request: AdmissionRequest): boolean {
  if (scope === "*") return true;
  const isNamespaced = !request.resource.isNamespace && namespaceOf(request) !== "";
  return isNamespaced === (scope === "Namespaced");
}

/** `pods`, `pods/log`, `pods/*`, `*`, `*` and a subresource, or `*` for both. */
function isResource(text: string, plural: string, subresource: string): boolean {
  const slash = text.indexOf("/");
  const resource = slash < 0 ? text : text.slice(0, slash);
  const part = slash < 0 ? "" : text.slice(slash + 1);
  return (resource === "*" || resource === plural) && (part === "*" || part === subresource);
}
