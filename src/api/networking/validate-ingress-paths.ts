import { dns1123Label, dns1123Subdomain, pathSegmentName, portName, portNumber } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";
import { type HTTPIngressPath, type HTTPIngressRuleValue, type IngressBackend } from "./ingress.ts";

export function validatePaths(at: Cursor<HTTPIngressRuleValue>): void {
  at.field("paths").required();
  at.each("paths", validatePath);
}

/** Parts of a path that name another path than they seem to. */
const badParts = ["//", "/./", "/../", "%2f", "%2F"];
const badEnds = ["/..", "/."];

function validatePath(at: Cursor<HTTPIngressPath>): void {
  const { path = "", pathType } = at.value;
  const place = at.field("path").as(path);
  const isAbsolute = path.startsWith("/");
  if (pathType === undefined) {
    at.field("pathType").missing("pathType must be specified");
    return;
  }
  if (pathType === "Exact" || pathType === "Prefix") {
    if (!isAbsolute) place.invalid("must be an absolute path");
    for (const part of badParts) if (path.includes(part)) place.invalid(`must not contain '${part}'`);
    for (const end of badEnds) if (path.endsWith(end)) place.invalid(`cannot end with '${end}'`);
  } else if (pathType === "ImplementationSpecific") {
    if (path !== "" && !isAbsolute) place.invalid("must be an absolute path");
  } else at.field("pathType").unsupported(["Exact", "ImplementationSpecific", "Prefix"]);
  validateBackend(at.field("backend"));
}

export function validateBackend(at: Cursor<IngressBackend>): void {
  const { service, resource } = at.value;
  if (resource && service) at.invalid("cannot set both resource and service backends", "");
  else if (resource) validateResource(at.field("resource").as(resource));
  else if (service) validateService(at.field("service").as(service), at);
  else at.invalid("resource or service backend is required", "");
}

/** The schema has checked what must be there. */
function validateResource(at: Cursor<NonNullable<IngressBackend["resource"]>>): void {
  const { apiGroup, kind, name } = at.value;
  if (apiGroup === "") at.field("apiGroup").rule(dns1123Subdomain);
  if (kind) at.field("kind").rule(pathSegmentName);
  if (name) at.field("name").rule(pathSegmentName);
}

/** Faults of the port as a whole are at the backend, as upstream has them. */
function validateService(at: Cursor<NonNullable<IngressBackend["service"]>>, backend: Cursor): void {
  if (at.field("name").required()) at.field("name").rule(dns1123Label);
  const port = at.field("port");
  const { name, number } = port.value;
  if (name && number) backend.invalid("cannot set both port name & port number", "");
  else if (name) port.field("name").rule(portName);
  else if (number) port.field("number").invalid(portNumber(number));
  else backend.missing("port name or number is required");
}
