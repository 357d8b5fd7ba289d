import { parseDuration } from "#schema/duration.ts";
import { type FieldError, type FieldPath, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import { defaulted, nullable, optional } from "#schema/fields.ts";
import { type Infer, object } from "#schema/schema.ts";
import { duration, int32, list, string } from "#schema/types.ts";
import { type ConfigKind } from "../config/config-file.ts";

const name = (kind: string): string => `apiserver.config/v1.${kind}`;

const Key = object(name("Key"), "", {
  name: optional(1, string(), "Stands in each value that it encrypts."),
  secret: optional(2, string(), "The key, in base64."),
});
const Keys = object(name("Keys"), "", { keys: optional(1, list(Key), "The first writes, all read.") });
const Kms = object(name("KMSConfiguration"), "", {
  apiVersion: defaulted(1, string(), "v1", "The version of the service: v2."),
  name: optional(2, string(), "Stands in each value that it encrypts."),
  cachesize: nullable(3, int32(), "Only for v1."),
  endpoint: optional(4, string(), "The socket of the service, as in unix:///run/kms.sock."),
  timeout: defaulted(5, duration(), "3s", "How long a call may take."),
});
const Provider = object(name("ProviderConfiguration"), "", {
  aesgcm: nullable(1, Keys, "AES-GCM with random nonces."),
  aescbc: nullable(2, Keys, "AES-CBC with padding."),
  secretbox: nullable(3, Keys, "XSalsa20 and Poly1305."),
  identity: nullable(4, object(name("IdentityConfiguration"), "", {}), "No encryption."),
  kms: nullable(5, Kms, "Keys of an external service."),
});
const Group = object(name("ResourceConfiguration"), "", {
  resources: optional(1, list(string()), "Such as secrets, deployments.apps, *.apps, *. or *.*."),
  providers: optional(2, list(Provider), "The first writes, all read."),
});
const Configuration = object(name("EncryptionConfiguration"), "", {
  kind: optional(0, string(), ""),
  apiVersion: optional(0, string(), ""),
  resources: optional(1, list(Group), "Who encrypts what."),
});

export type EncryptionConfiguration = Infer<typeof Configuration>;
export type ProviderConfiguration = Infer<typeof Provider>;
export type KmsConfiguration = Infer<typeof Kms>;
export type KeyConfiguration = Infer<typeof Key>;

/** Upstream's EncryptionConfiguration, with its rules and messages. */
export const encryptionConfig: ConfigKind<EncryptionConfiguration> = {
  kind: "EncryptionConfiguration",
  apiVersions: ["apiserver.config.k8s.io/v1"],
  schema: Configuration,
  faults({ resources = [] }) {
    const at = root.child("resources");
    if (resources.length === 0) return [requiredValue(at, "at least one resources is required")];
    const kmsNames = new Set<string>();
    return [
      ...resources.flatMap(({ resources: names = [], providers = [] }, n) => [
        ...validateNames(names, at.index(n).child("resources")),
        ...validateProviders(providers, { at: at.index(n).child("providers"), kmsNames }),
      ]),
      ...maskedNames(resources, at),
    ];
  },
};

/** A resource of the configuration: `deployments.apps` is a name and a group. */
export function parseName(text: string): { readonly resource: string; readonly group: string } {
  const dot = text.indexOf(".");
  return dot < 0 ? { resource: text, group: "" } : { resource: text.slice(0, dot), group: text.slice(dot + 1) };
}

const withoutApi = new Set(["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"]);

function validateNames(names: readonly string[], at: FieldPath): FieldError[] {
  if (names.length === 0) return [requiredValue(at, `at least one ${at} is required`)];
  const faults = names.flatMap((text, n) => {
    const why = faultOfName(text);
    return why ? [invalidValue(at.index(n), text, why)] : [];
  });
  if (new Set(names).size < names.length) {
    faults.push(invalidValue(at, names, "the same resource cannot be specified multiple times"));
  }
  const parsed = names.map(parseName);
  const isCovered = parsed.some(
    (a, i) =>
      a.resource === "*" &&
      parsed.some((b, j) => i !== j && (a.group === "*" || (a.group === b.group && b.resource !== "*"))),
  );
  if (isCovered) {
    const why =
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
    faults.push(invalidValue(at, names, why));
  }
  return faults;
}

function faultOfName(text: string): string | undefined {
  const { resource, group } = parseName(text);
  if (text !== text.toLowerCase()) return "resource name should not contain capital letters";
  if (text === "*") return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (withoutApi.has(text)) return "resources which do not have REST API/s cannot be encrypted";
  if (group === "events.k8s.io") {
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  }
  if (group === "extensions") return "'extensions' group has been removed and cannot be used for encryption";
  if (group === "*" && resource !== "*") return "encrypting the same resource across groups is not supported";
  return undefined;
}

/** A rule behind one that covers all it names would never be used. */
function maskedNames(groups: NonNullable<EncryptionConfiguration["resources"]>, at: FieldPath): FieldError[] {
  const earlier = new Set<string>();
  return groups.flatMap(({ resources = [] }, n) => {
    const faults = resources.flatMap((text, m) => {
      const mask = [`*.${parseName(text).group}`, "*.*"].find((wide) => earlier.has(wide));
      const why = `resource ${JSON.stringify(text)} is masked by earlier rule ${JSON.stringify(mask)}`;
      return mask ? [invalidValue(at.index(n).child("resources").index(m), text, why)] : [];
    });
    for (const text of resources) earlier.add(text);
    return faults;
  });
}

interface Providers {
  readonly at: FieldPath;
  readonly kmsNames: Set<string>;
}

function validateProviders(providers: readonly ProviderConfiguration[], { at, kmsNames }: Providers): FieldError[] {
  if (providers.length === 0) return [requiredValue(at, `at least one ${at} is required`)];
  return providers.flatMap((provider, n) => {
    const place = at.index(n);
    const given = Object.keys(provider);
    if (given.length === 0) {
      const why = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity";
      return [invalidValue(place, {}, why)];
    }
    if (given.length > 1) {
      const why = "more than one provider specified in a single element, should split into different list elements";
      return [invalidValue(place, given, why)];
    }
    const { aesgcm, aescbc, secretbox, kms } = provider;
    if (aesgcm) return validateKeys(aesgcm.keys, place.child("aesgcm", "keys"), [16, 24, 32]);
    if (aescbc) return validateKeys(aescbc.keys, place.child("aescbc", "keys"), [16, 24, 32]);
    if (secretbox) return validateKeys(secretbox.keys, place.child("secretbox", "keys"), [32]);
    return kms ? validateKms(kms, { at: place.child("kms"), kmsNames }) : [];
  });
}

function validateKeys(keys: readonly KeyConfiguration[] = [], at: FieldPath, sizes: readonly number[]): FieldError[] {
  if (keys.length === 0) return [requiredValue(at, "at least one keys is required")];
  return keys.flatMap(({ name: keyName, secret }, n) => {
    const place = at.index(n);
    const faults = keyName ? [] : [requiredValue(place.child("name"), "name is a mandatory field for a key")];
    const why = faultOfSecret(secret, sizes);
    if (!secret) faults.push(requiredValue(place.child("secret"), "secret is a mandatory field for a key"));
    // The secret itself must not get into a log.
    else if (why) faults.push(invalidValue(place.child("secret"), "REDACTED", why));
    return faults;
  });
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function faultOfSecret(secret: string | undefined, sizes: readonly number[]): string | undefined {
  if (!secret) return undefined;
  if (!base64.test(secret)) return "secrets must be base64 encoded";
  const { length } = Buffer.from(secret, "base64");
  if (sizes.includes(length)) return undefined;
  return `secret is not of the expected length, got ${length}, expected one of [${sizes.join(" ")}]`;
}

function validateKms(kms: KmsConfiguration, { at, kmsNames }: Providers): FieldError[] {
  const { name: kmsName = "", endpoint = "", apiVersion, timeout, cachesize } = kms;
  const faults: FieldError[] = [];
  const refuse = (field: string, value: unknown, why: string) => faults.push(invalidValue(at.child(field), value, why));
  if (!kmsName) faults.push(requiredValue(at.child("name"), "name is a mandatory field for a provider"));
  if (kmsName.includes(":")) refuse("name", kmsName, `invalid KMS provider name ${kmsName}, must not contain ':'`);
  if (kmsNames.has(kmsName)) refuse("name", kmsName, `duplicate KMS provider name ${kmsName}, names must be unique`);
  kmsNames.add(kmsName);
  if (parseDuration(timeout) <= 0n) refuse("timeout", timeout, "timeout should be a positive value");
  const why = faultOfEndpoint(endpoint);
  if (why) refuse("endpoint", endpoint, why);
  if (cachesize !== undefined && apiVersion !== "v1")
    refuse("cachesize", cachesize, "cachesize is not supported in v2");
  if (apiVersion === "v1") {
    refuse("apiVersion", apiVersion, "KMSv1 is deprecated and not supported: use a plugin that serves v2");
  } else if (apiVersion !== "v2") {
    refuse(
      "apiVersion",
      apiVersion,
      "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported",
    );
  }
  return faults;
}

function faultOfEndpoint(endpoint: string): string | undefined {
  if (!endpoint) return "endpoint is a mandatory field for a kms";
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1]?.toLowerCase() ?? "";
  if (scheme !== "unix") {
    return `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`;
  }
  return /^unix:\/\/(?:\/|@)[^\0]+$/.test(endpoint) ? undefined : "invalid endpoint for kms provider, error: no path";
}
