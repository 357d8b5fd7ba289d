import { parseGoUrl } from "#lib/net/go-url.ts";
import { type Cursor } from "../cursor.ts";
import { type SentDefinition } from "./definition-fields.ts";

const annotation = "api-approved.kubernetes.io";
const rule = "see https://github.com/kubernetes/enhancements/pull/1111";

/** Groups of the Kubernetes community, whose kinds must be approved. */
export const isProtectedGroup = (group: string): boolean =>
  group === "k8s.io" || group === "kubernetes.io" || group.endsWith(".k8s.io") || group.endsWith(".kubernetes.io");

export interface Approval {
  readonly state: "missing" | "bypassed" | "approved" | "invalid";
  readonly message: string;
}

/** Whether the kind of a protected group is approved, according to its annotation. */
export function approvalOf({ metadata }: Pick<SentDefinition, "metadata">): Approval {
  const value = metadata.annotations?.[annotation] ?? "";
  const demand = `protected groups must have approval annotation ${JSON.stringify(annotation)}`;
  if (value === "") return { state: "missing", message: `${demand}, ${rule}` };
  if (value.startsWith("unapproved")) return { state: "bypassed", message: `not approved: ${JSON.stringify(value)}` };
  if (isUrl(value)) return { state: "approved", message: `approved in ${value}` };
  const message = `${demand} with either a URL or a reason starting with "unapproved", ${rule}`;
  return { state: "invalid", message };
}

/** Longer texts would only cost time. */
const maxUrlChars = 8192;

function isUrl(text: string): boolean {
  const url = text.length <= maxUrlChars ? parseGoUrl(text) : { fault: "" };
  return !("fault" in url) && Boolean(url.scheme) && Boolean(url.host);
}

/** A definition of a protected group must say whether it is approved. One that did not before need not do so now. */
export function validateApproval(at: Cursor<SentDefinition>, old: SentDefinition | undefined): void {
  if (!isProtectedGroup(at.value.spec.group)) return;
  const { state, message } = approvalOf(at.value);
  if (old && approvalOf(old).state === state) return;
  const place = at.under("metadata", "annotations").key(annotation, at.value.metadata.annotations?.[annotation]);
  if (state === "missing") place.missing(message);
  if (state === "invalid") place.invalid(message);
}
