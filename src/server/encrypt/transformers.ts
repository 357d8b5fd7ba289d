import { type Resource } from "#api/resource.ts";
import { ConfigFileError } from "../config/config-file.ts";
import { aesCbc, aesGcm, type Cipher, secretbox } from "./ciphers.ts";
import {
  type EncryptionConfiguration,
  type KeyConfiguration,
  type KmsConfiguration,
  type ProviderConfiguration,
  parseName,
} from "./configuration.ts";
import { type TransformerOf } from "./encrypted-store.ts";
import { identity, keyProvider } from "./key-provider.ts";
import { type Provider, Transformer } from "./provider.ts";

/** Opens a provider whose keys are kept by another process. */
export type OpenKms = (config: KmsConfiguration) => Provider;

/** By `resource.group` of the configuration: `secrets.`, `*.apps`, `*.*`. */
type Rules = ReadonlyMap<string, Transformer>;

/** How the value of each key is stored. Kinds that the configuration does not name are not encrypted. */
export function transformersFor(
  config: EncryptionConfiguration,
  { resources, openKms = noKms }: { readonly resources: readonly Resource[]; readonly openKms?: OpenKms },
): TransformerOf {
  const rules = rulesOf(config, openKms);
  const byFolder = new Map(resources.map((each) => [stored(each).storagePrefix, ruleFor(rules, stored(each))]));
  return (key) => {
    const [, , first = "", second = ""] = key.split("/", 4);
    const known = byFolder.get(first) ?? byFolder.get(`${first}/${second}`);
    // Kinds that were added at run time are stored below their group.
    return known ?? ruleFor(rules, { plural: second, group: first.includes(".") ? first : "" });
  };
}

const noKms: OpenKms = ({ name = "" }) => {
  throw new ConfigFileError(`the provider ${JSON.stringify(name)} needs a key service, and this server opens none`);
};

const stored = (resource: Resource): Resource => resource.storedAs?.resource ?? resource;
const plainText = new Transformer([identity]);

const ruleFor = (rules: Rules, { plural, group }: Pick<Resource, "plural" | "group">): Transformer =>
  rules.get(`${plural}.${group}`) ?? rules.get(`*.${group}`) ?? rules.get("*.*") ?? plainText;

/** A resource may be in several rules: the first of them writes, all read. */
function rulesOf({ resources = [] }: EncryptionConfiguration, openKms: OpenKms): Rules {
  const providers = new Map<string, Provider[]>();
  for (const group of resources) {
    const own = (group.providers ?? []).map((config) => providerOf(config, openKms));
    for (const text of group.resources ?? []) {
      const { resource, group: apiGroup } = parseName(text);
      const key = `${resource}.${apiGroup}`;
      providers.set(key, [...(providers.get(key) ?? []), ...own]);
    }
  }
  return new Map([...providers].map(([key, list]) => [key, new Transformer(list)]));
}

function providerOf({ aesgcm, aescbc, secretbox: box, kms }: ProviderConfiguration, openKms: OpenKms): Provider {
  if (aesgcm) return keyProvider("aesgcm", ciphersOf(aesgcm.keys, aesGcm));
  if (aescbc) return keyProvider("aescbc", ciphersOf(aescbc.keys, aesCbc));
  if (box) return keyProvider("secretbox", ciphersOf(box.keys, secretbox));
  return kms ? openKms(kms) : identity;
}

const ciphersOf = (keys: readonly KeyConfiguration[] = [], cipherOf: (key: Uint8Array) => Cipher) =>
  keys.map(({ name = "", secret = "" }) => ({ name, cipher: cipherOf(Buffer.from(secret, "base64")) }));
