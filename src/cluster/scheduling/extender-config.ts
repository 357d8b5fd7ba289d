import { isExtendedResource } from "#api/core/container/resource-list.ts";
import { type Cursor } from "#api/cursor.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { parseDuration } from "#schema/duration.ts";
import { optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, bytes, duration, int64, list, string } from "#schema/types.ts";

const object = inPackage("kubescheduler.config.k8s.io/v1");

export const Extender = object("Extender", "A server that is asked about nodes for pods.", {
  urlPrefix: present(1, string(), "Where the server is."),
  filterVerb: optional(2, string(), "Path below the prefix that is asked which nodes fit."),
  preemptVerb: optional(3, string(), "Path that is asked which pods may end for another."),
  prioritizeVerb: optional(4, string(), "Path that is asked how good nodes are."),
  weight: optional(5, int64(), "What these scores are multiplied by."),
  bindVerb: optional(6, string(), "Path that binds pods."),
  enableHTTPS: optional(7, boolean(), "Whether the server is asked over TLS. Without a CA, any certificate will do."),
  tlsConfig: object.nullable(8, "ExtenderTLSConfig", "Whom to trust, and who we are.", {
    insecure: optional(1, boolean(), "Whether any certificate will do."),
    serverName: optional(2, string(), "Name in the certificate of the server, if it is not that of its URL."),
    certFile: optional(3, string(), "Our certificate."),
    keyFile: optional(4, string(), "Its key."),
    caFile: optional(5, string(), "Authorities that are trusted."),
    certData: optional(6, bytes(), "Our certificate itself. It counts before certFile."),
    keyData: optional(7, bytes(), "Its key. It counts before keyFile."),
    caData: optional(8, bytes(), "Authorities themselves. They count before caFile."),
  }),
  httpTimeout: optional(9, duration(), "How long the server may take; 5s by default."),
  nodeCacheCapable: optional(10, boolean(), "Whether the server knows the nodes, so that names are enough."),
  managedResources: optional(
    11,
    list(
      object("ExtenderManagedResource", "A resource that the server looks after.", {
        name: present(1, string(), "Name of the resource."),
        ignoredByScheduler: optional(2, boolean(), "Whether NodeResourcesFit leaves it to the server."),
      }),
    ),
    "Only pods that ask for one of these resources concern the server; all pods if there are none.",
  ),
  ignorable: optional(12, boolean(), "Whether pods are scheduled without the server when it fails."),
});
export interface Extender extends Infer<typeof Extender> {}

const verbs = ["filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"] as const;
/** Letters, digits and what else a path needs, but no `..`: a verb leads to no other path. */
const verbPattern = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$/;

export function validateExtenders(at: Cursor<{ extenders?: Extender[] }>): void {
  const managed = new Set<string>();
  at.each("extenders", (at) => {
    validateAddress(at);
    const { prioritizeVerb, weight = 0 } = at.value;
    if (prioritizeVerb && weight <= 0)
      at.field("weight").as(weight).invalid("must have a positive weight applied to it");
    at.each("managedResources", (at) => validateResource(at.field("name"), managed));
  });
  const binders = at.value.extenders?.filter(({ bindVerb }) => bindVerb).length ?? 0;
  if (binders > 1) {
    at.field("extenders").invalid(
      "only one extender can implement bind",
      `found ${binders} extenders implementing bind`,
    );
  }
}

function validateAddress(at: Cursor<Extender>): void {
  const prefix = at.field("urlPrefix");
  const url = URL.parse(prefix.value);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) prefix.invalid("must be an http or https URL");
  else if (url.username || url.password) prefix.invalid("must not contain a user or a password", "<hidden>");
  else if (url.search || url.hash) prefix.invalid("must not have a query or a fragment: verbs are appended to it");
  for (const verb of verbs) {
    const field = at.field(verb);
    if (field.value && !verbPattern.test(field.value)) field.invalid("must be a path below urlPrefix");
  }
  const timeout = at.value.httpTimeout;
  if (timeout !== undefined && parseDuration(timeout) < 0n) at.field("httpTimeout").invalid("must not be negative");
}

function validateResource(at: Cursor<string>, seen: Set<string>): void {
  const before = at.faultCount;
  at.rule(qualifiedName);
  if (at.faultCount === before && !isExtendedResource(at.value)) at.invalid("is an invalid extended resource name");
  if (seen.has(at.value)) at.invalid("duplicate extender managed resource name");
  seen.add(at.value);
}
