import {
  type ClusterTrustBundleProjection,
  type KeyToPath,
  type PodCertificateProjection,
  type ProjectedVolumeSource,
  type ServiceAccountTokenProjection,
} from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, qualifiedName, type Rule } from "#api/meta/names.ts";
import { validateFilePath } from "./validate-path.ts";
import { validateDownwardFile, validateItem } from "./validate-volume-items.ts";

/** Every path of the volume can be used once. `shown` is the value in the fault for a second use. */
type Take = (file: string, shown: string) => void;

export function validateProjected(volume: Cursor<ProjectedVolumeSource>): void {
  const taken = new Set<string>();
  const take: Take = (file, shown) => {
    if (taken.has(file)) volume.invalid("conflicting duplicate paths", shown);
    taken.add(file);
  };
  volume.each("sources", (at) => {
    at.on("secret", (at) => validateKeys(at, take));
    at.on("configMap", (at) => validateKeys(at, take));
    for (const file of at.value.downwardAPI?.items ?? []) {
      validateDownwardFile(at.field("downwardAPI").as(file));
      if (file.path) take(file.path, file.path);
    }
    at.on("serviceAccountToken", (at) => validateToken(at, volume));
    at.on("clusterTrustBundle", (at) => validateTrustBundle(at, take));
    at.on("podCertificate", (at) => validateCertificate(at, take));
    if (Object.keys(at.value).length > 1) at.forbidden("may not specify more than 1 volume type per source");
  });
}

function validateKeys(at: Cursor<{ name?: string; items?: KeyToPath[] }>, take: Take): void {
  const { name = "", items = [] } = at.value;
  at.field("name").required();
  at.each("items", validateItem);
  for (const { path } of items) if (path) take(path, name);
}

function validateToken(at: Cursor<ServiceAccountTokenProjection>, volume: Cursor): void {
  validateTokenLife(at.field("expirationSeconds"));
  validateFilePath(volume.under("path").as(at.value.path));
}

/** Checks the lifetime of a token. */
export function validateTokenLife(at: Cursor<number>): void {
  if (at.value < 600) at.invalid("may not specify a duration less than 10 minutes");
  if (at.value > 2 ** 32) at.invalid("may not specify a duration larger than 2^32 seconds");
}

function validateTrustBundle(at: Cursor<ClusterTrustBundleProjection>, take: Take): void {
  const { name, signerName, labelSelector, path } = at.value;
  if (name !== undefined && signerName !== undefined) at.invalid("only one of name and signerName may be used");
  else if (name !== undefined) {
    validateBundleName(at.field("name").as(name));
    if (labelSelector) at.field("labelSelector").invalid("labelSelector must be unset if name is specified");
  } else if (signerName !== undefined) {
    at.field("signerName").required("must be a valid signer name");
    validateSignerName(at.field("signerName").as(signerName));
    at.on("labelSelector", validateLabelSelector);
  } else at.missing("either name or signerName must be specified");
  validateFilePath(at.field("path"));
  take(path, path);
}

function validateBundleName(at: Cursor<string>): void {
  at.required("must be a valid object name");
  // A bundle of a signer is called <signer, with : for />:<name>.
  for (const fault of dns1123Subdomain.all(at.value.slice(at.value.lastIndexOf(":") + 1))) {
    at.invalid(`not a valid clustertrustbundlename: ${fault}`);
  }
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

function validateCertificate(at: Cursor<PodCertificateProjection>, take: Take): void {
  const { signerName, userAnnotations } = at.value;
  if (signerName) validateSignerName(at.field("signerName"));
  for (const key in userAnnotations) {
    for (const fault of qualifiedName.all(key.toLowerCase())) at.field("userAnnotations").invalid(fault, key);
  }
  at.field("keyType").oneOf(keyTypes);
  at.on("maxExpirationSeconds", (at) => validateLifetime(at, signerName));
  const names = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  for (const name of names) {
    const file = at.set(name);
    if (!file) continue;
    validateFilePath(file);
    take(file.value, file.value);
  }
  if (!names.some((name) => at.value[name])) {
    at.missing("specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
  }
}

const day = 24 * 60 * 60;

function validateLifetime(at: Cursor<number>, signerName: string): void {
  const host = `.${signerName.split("/", 1)[0]}`;
  const longest = host.endsWith(".kubernetes.io") ? day : 91 * day;
  if (at.value < 3600) at.invalid("if provided, maxExpirationSeconds must be >= 3600");
  if (at.value > longest) at.invalid(`if provided, maxExpirationSeconds must be <= ${longest}`);
}

const maxSignerLength = 571;

/** The name of a signer of certificates: a domain and a path, as in example.com/signer-name. */
export function validateSignerName(at: Cursor<string>): void {
  const [domain = "", label, more] = at.value.split("/", 3);
  if (label === undefined || more !== undefined) {
    at.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'");
    return;
  }
  if (domain.length > 253) at.tooLong(253);
  validateParts(at.as(domain), dns1123Label);
  if (!domain.includes(".")) at.invalid("should be a domain with at least two segments separated by dots", domain);
  validateParts(at.as(label), dns1123Subdomain);
  if (at.value.length > maxSignerLength) at.tooLong(maxSignerLength);
}

/** Only the first part that is wrong is reported. A name of the right length has no more parts than are looked at. */
function validateParts(at: Cursor<string>, rule: Rule): void {
  const wrong = at.value.split(".", maxSignerLength).find((part) => rule(part) !== undefined);
  if (wrong === undefined) return;
  for (const detail of rule.all(wrong)) at.invalid(`validating label ${JSON.stringify(wrong)}: ${detail}`);
}
