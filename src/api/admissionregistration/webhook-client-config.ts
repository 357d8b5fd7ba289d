import { dns1123Subdomain, portNumber } from "#api/meta/names.ts";
import { parseGoUrl } from "#lib/net/go-url.ts";
import { defaulted, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { bytes, int32, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";

const object = inPackage("admissionregistration/v1");

const ServiceReference = object("ServiceReference", "The service in front of a webhook.", {
  namespace: present(1, string(), "Namespace of the webhook's service."),
  name: present(2, string(), "Name of the webhook's service."),
  path: nullable(3, string(), "Path of the URL at which the webhook is called."),
  port: defaulted(4, int32(), 443, "Port of the webhook's service."),
});
interface ServiceReference extends Infer<typeof ServiceReference> {}

export const WebhookClientConfig = object("WebhookClientConfig", "How a webhook is reached: by a URL or a service.", {
  url: nullable(3, string(), "URL of the webhook: https://host:port/path. Excludes service."),
  service: nullable(1, ServiceReference, "Service of the webhook in this cluster. Excludes url."),
  caBundle: optional(2, bytes(), "PEM certificates that the webhook's certificate must come from."),
});
interface WebhookClientConfig extends Infer<typeof WebhookClientConfig> {}

export function validateClientConfig(at: Cursor<WebhookClientConfig>): void {
  const { url, service } = at.value;
  if ((url === undefined) === (service === undefined)) return at.missing("exactly one of url or service is required");
  at.on("url", validateUrl);
  at.on("service", validateService);
}

/** Upstream has no limit. Longer texts would only cost time. */
const maxLength = 8192;
const form = "; desired format: https://host[/path]";

function validateUrl(at: Cursor<string>): void {
  if (at.value.length > maxLength) return at.tooLong(maxLength);
  const url = parseGoUrl(at.value);
  if ("fault" in url) return at.missing(`url must be a valid URL: ${url.fault}${form}`);
  if (url.scheme !== "https") at.invalid(`'https' is the only allowed URL scheme${form}`, url.scheme);
  if (!url.host) at.invalid(`host must be specified${form}`, "");
  if (url.user !== undefined) at.invalid("user information is not permitted in the URL", url.user);
  if (url.fragment) at.invalid("fragments are not permitted in the URL", url.fragment);
  if (url.query) at.invalid("query parameters are not permitted in the URL", url.query);
}

/** Upstream takes the name for the namespace and the reverse; here a fault is at the field that is missing. */
function validateService(at: Cursor<ServiceReference>): void {
  at.field("name").required();
  at.field("namespace").required();
  const fault = portNumber(at.value.port);
  if (fault) at.field("port").invalid(`port is not valid: ${fault}`);
  at.on("path", validatePath);
}

function validatePath(at: Cursor<string>): void {
  const { value } = at;
  if (value === "" || value === "/") return;
  if (value.length > maxLength) return at.tooLong(maxLength);
  if (value === "//") return at.invalid("segment[0] may not be empty");
  if (!value.startsWith("/")) at.invalid("must start with a '/'");
  const steps = value.slice(1).replace(/\/$/, "").split("/");
  for (const [index, step] of steps.entries()) {
    if (step === "") at.invalid(`segment[${index}] may not be empty`);
    else for (const fault of dns1123Subdomain.all(step)) at.invalid(`segment[${index}]: ${fault}`);
  }
}
