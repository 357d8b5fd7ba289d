import { type UserInfo } from "#api/exchange.ts";
import { groupResource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";

/** 403 with upstream's message. The details contain the rule that would have allowed the request. */
export function forbiddenRequest(user: UserInfo, info: RequestInfo, reason: string): StatusError {
  const { group, resource, name } = info;
  const subject = `${groupResource({ group }, resource)}${name ? ` ${JSON.stringify(name)}` : ""}`;
  const text = sanitized(deniedAction(user, info));
  const message = `${subject === "" ? "" : `${subject} is `}forbidden: ${text}${reason ? `: ${reason}` : ""}`;
  return new StatusError("Forbidden", message, {
    ...(name ? { name } : {}),
    ...(group ? { group } : {}),
    ...(resource ? { kind: resource } : {}),
    causes: [{ reason: "MissingRule", message: missingRule(info) }],
  });
}

function deniedAction({ name }: UserInfo, info: RequestInfo): string {
  const who = `User ${JSON.stringify(name)} cannot ${info.verb}`;
  if (!info.isResource) return `${who} path ${JSON.stringify(info.path)}`;
  const resource = JSON.stringify(info.subresource ? `${info.resource}/${info.subresource}` : info.resource);
  const where = info.namespace ? `in the namespace ${JSON.stringify(info.namespace)}` : "at the cluster scope";
  return `${who} resource ${resource} in API group ${JSON.stringify(info.group)} ${where}`;
}

/** The rule that a role would need, in YAML's flow style. */
export function missingRule({ isResource, verb, group, resource, subresource, path }: RequestInfo): string {
  if (!isResource) return `{nonResourceURLs: [${JSON.stringify(path)}], verbs: ["${verb}"]}`;
  const combined = subresource ? `${resource}/${subresource}` : resource;
  return `{apiGroups: [${JSON.stringify(group)}], resources: [${JSON.stringify(combined)}], verbs: ["${verb}"]}`;
}

/** Nothing in an error may look like HTML to a browser. */
const sanitized = (text: string): string =>
  text.replace(/[&<>]/g, (character) => (character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;"));
