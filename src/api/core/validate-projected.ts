import {
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "#schema/field-error.ts";
import { validateLabelSelector } from "../meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, qualifiedName } from "../meta/names.ts";
import { type Faults } from "./faults.ts";
import { validateFilePath } from "./validate-path.ts";
import { validateDownwardFile, validateItems } from "./validate-volume-items.ts";
import {
  type ClusterTrustBundleProjection,
  type KeyToPath,
  type PodCertificateProjection,
  type ProjectedVolumeSource,
  type ServiceAccountTokenProjection,
  type VolumeProjection,
} from "./volume.ts";

/** One walk over the sources of a volume: every path may be taken once. */
interface Walk {
  /** Of the volume source. */
  readonly path: FieldPath;
  readonly taken: Set<string>;
  readonly faults: Faults;
}

export function validateProjected({ sources = [] }: ProjectedVolumeSource, path: FieldPath, faults: Faults): void {
  const walk: Walk = { path, taken: new Set(), faults };
  for (const [index, source] of sources.entries()) {
    const at = path.child("sources").index(index);
    validateProjection(source, at, walk);
    if (Object.keys(source).length > 1) {
      faults.push(forbiddenValue(at, "may not specify more than 1 volume type per source"));
    }
  }
}

function validateProjection(source: VolumeProjection, path: FieldPath, walk: Walk): void {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  if (secret) validateKeys(secret, path.child("secret"), walk);
  if (configMap) validateKeys(configMap, path.child("configMap"), walk);
  for (const file of downwardAPI?.items ?? []) {
    validateDownwardFile(file, path.child("downwardAPI"), walk.faults);
    if (file.path) take(file.path, file.path, walk);
  }
  if (serviceAccountToken) validateToken(serviceAccountToken, path.child("serviceAccountToken"), walk);
  if (clusterTrustBundle) validateTrustBundle(clusterTrustBundle, path.child("clusterTrustBundle"), walk);
  if (podCertificate) validateCertificate(podCertificate, path.child("podCertificate"), walk);
}

function take(file: string, shown: string, { path, taken, faults }: Walk): void {
  if (taken.has(file)) faults.push(invalidValue(path, shown, "conflicting duplicate paths"));
  taken.add(file);
}

function validateKeys({ name, items }: { name?: string; items?: KeyToPath[] }, path: FieldPath, walk: Walk): void {
  if (!name) walk.faults.push(requiredValue(path.child("name")));
  validateItems(items, path.child("items"), walk.faults);
  for (const { path: file } of items ?? []) if (file) take(file, name ?? "", walk);
}

function validateToken(token: ServiceAccountTokenProjection, path: FieldPath, { path: volume, faults }: Walk): void {
  const { expirationSeconds: seconds } = token;
  if (seconds < 600) {
    const detail = "may not specify a duration less than 10 minutes";
    faults.push(invalidValue(path.child("expirationSeconds"), seconds, detail));
  }
  if (seconds > 2 ** 32) {
    const detail = "may not specify a duration larger than 2^32 seconds";
    faults.push(invalidValue(path.child("expirationSeconds"), seconds, detail));
  }
  validateFilePath(token.path, volume.child("path"), faults);
}

function validateTrustBundle(bundle: ClusterTrustBundleProjection, path: FieldPath, walk: Walk): void {
  const { name, signerName, labelSelector } = bundle;
  const { faults } = walk;
  if (name !== undefined && signerName !== undefined) {
    faults.push(invalidValue(path, bundle, "only one of name and signerName may be used"));
  } else if (name !== undefined) {
    validateBundleName(name, path.child("name"), faults);
    if (labelSelector) {
      const detail = "labelSelector must be unset if name is specified";
      faults.push(invalidValue(path.child("labelSelector"), labelSelector, detail));
    }
  } else if (signerName !== undefined) {
    if (!signerName) faults.push(requiredValue(path.child("signerName"), "must be a valid signer name"));
    validateSignerName(signerName, path.child("signerName"), faults);
    faults.push(...validateLabelSelector(labelSelector, path.child("labelSelector")));
  } else {
    faults.push(requiredValue(path, "either name or signerName must be specified"));
  }
  validateFilePath(bundle.path, path.child("path"), faults);
  take(bundle.path, bundle.path, walk);
}

function validateBundleName(name: string, path: FieldPath, faults: Faults): void {
  if (!name) faults.push(requiredValue(path, "must be a valid object name"));
  // A bundle of a signer is called <signer, with : for />:<name>.
  for (const fault of dns1123Subdomain.all(name.slice(name.lastIndexOf(":") + 1))) {
    faults.push(invalidValue(path, name, `not a valid clustertrustbundlename: ${fault}`));
  }
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

function validateCertificate(certificate: PodCertificateProjection, path: FieldPath, walk: Walk): void {
  const { signerName, keyType, maxExpirationSeconds, userAnnotations } = certificate;
  const { faults } = walk;
  if (signerName) validateSignerName(signerName, path.child("signerName"), faults);
  for (const key in userAnnotations) {
    for (const fault of qualifiedName.all(key.toLowerCase())) {
      faults.push(invalidValue(path.child("userAnnotations"), key, fault));
    }
  }
  if (!keyTypes.includes(keyType)) faults.push(unsupportedValue(path.child("keyType"), keyType, keyTypes));
  if (maxExpirationSeconds !== undefined) validateLifetime(maxExpirationSeconds, signerName, path, faults);
  const names = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  for (const name of names) {
    const file = certificate[name];
    if (!file) continue;
    validateFilePath(file, path.child(name), faults);
    take(file, file, walk);
  }
  if (!names.some((name) => certificate[name])) {
    const detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
    faults.push(requiredValue(path, detail));
  }
}

const day = 24 * 60 * 60;

function validateLifetime(seconds: number, signerName: string, path: FieldPath, faults: Faults): void {
  const host = `.${signerName.split("/", 1)[0]}`;
  const longest = host.endsWith(".kubernetes.io") ? day : 91 * day;
  const at = path.child("maxExpirationSeconds");
  if (seconds < 3600) faults.push(invalidValue(at, seconds, "if provided, maxExpirationSeconds must be >= 3600"));
  if (seconds > longest) {
    faults.push(invalidValue(at, seconds, `if provided, maxExpirationSeconds must be <= ${longest}`));
  }
}

/** Who signs: a domain and a path, as in example.com/signer-name. */
function validateSignerName(name: string, path: FieldPath, faults: Faults): void {
  const [domain = "", label, ...more] = name.split("/");
  if (label === undefined || more.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    faults.push(invalidValue(path, name, detail));
    return;
  }
  if (domain.length > 253) faults.push(tooLong(path, 253));
  const parts = domain.split(".");
  judgeParts(parts, domain, dns1123Label.all, path, faults);
  if (parts.length < 2) {
    const detail = "should be a domain with at least two segments separated by dots";
    faults.push(invalidValue(path, domain, detail));
  }
  judgeParts(label.split("."), label, dns1123Subdomain.all, path, faults);
  if (name.length > 571) faults.push(tooLong(path, 571));
}

function judgeParts(
  parts: readonly string[],
  shown: string,
  all: (value: string) => readonly string[],
  path: FieldPath,
  faults: Faults,
): void {
  for (const part of parts) {
    const details = all(part);
    for (const detail of details) {
      faults.push(invalidValue(path, shown, `validating label ${JSON.stringify(part)}: ${detail}`));
    }
    if (details.length > 0) return;
  }
}
