import { type Resource } from "#api/resource.ts";
import { aesCbc, aesGcm, type Cipher, secretbox } from "./ciphers.ts";
import {
  type EncryptionConfiguration,
  type KeyConfiguration,
  type ProviderConfiguration,
  parseName,
} from "./configuration.ts";
import type { TransformerOf } from "./encrypted-store.ts";
import { identity, keyProvider } from "./key-provider.ts";
import { type CountTransformation, type Provider, Transformer } from "./provider.ts";

/** The provider of this name, whose key is kept by an external service. */
export type KmsOf = (name: string) => Provider;

/** By `resource.group` of the configuration: `secrets.`, `*.apps`, `*.*`. */
type Rules = ReadonlyMap<string, Transformer>;

export interface TransformerDeps {
  readonly resources: readonly Resource[];
  readonly kmsOf: KmsOf;
  readonly count?: CountTransformation;
}

/** How the value of each key is stored. Kinds that the configuration does not name are not encrypted. */
export function transformersFor(
  config: EncryptionConfiguration,
  { resources, kmsOf, count }: TransformerDeps,
): TransformerOf {
  const rules = rulesOf(config, kmsOf, count);
  const byFolder = new Map(resources.map((each) => [stored(each).storagePrefix, ruleFor(rules, stored(each))]));
  return (key) => {
    const [, , first = "", second = ""] = key.split("/", 4);
    const known = byFolder.get(first) ?? byFolder.get(`${first}/${second}`);
    // Kinds that were added at run time are stored below their group.
    return known ?? ruleFor(rules, { plural: second, group: first.includes(".") ? first : "" });
  };
}

const stored = (resource: Resource): Resource => resource.storedAs?.resource ?? resource;
const plainText = new Transformer([identity]);

const ruleFor = (rules: Rules, { plural, group }: Pick<Resource, "plural" | "group">): Transformer =>
  rules.get(`${plural}.${group}`) ?? rules.get(`*.${group}`) ?? rules.get("*.*") ?? plainText;

/** A resource may be in several rules: the first of them writes, all read. */
function rulesOf({ resources = [] }: EncryptionConfiguration, kmsOf: KmsOf, count?: CountTransformation): Rules {
  const providers = new Map<string, Provider[]>();
  for (const group of resources) {
    const own = (group.providers ?? []).map((config) => providerOf(config, kmsOf));
    for (const text of group.resources ?? []) {
      const { resource, group: apiGroup } = parseName(text);
      const key = `${resource}.${apiGroup}`;
      providers.set(key, [...(providers.get(key) ?? []), ...own]);
    }
  }
  return new Map([...providers].map(([key, list]) => [key, new Transformer(list, count)]));
}

function providerOf({ aesgcm, aescbc, secretbox: box, kms }: ProviderConfiguration, kmsOf: KmsOf): Provider {
  if (aesgcm) return keyProvider("aesgcm", ciphersOf(aesgcm.keys, aesGcm));
  if (aescbc) return keyProvider("aescbc", ciphersOf(aescbc.keys, aesCbc));
  if (box) return keyProvider("secretbox", ciphersOf(box.keys, secretbox));
  return kms ? kmsOf(kms.name ?? "") : identity;
}

const ciphersOf = (keys: readonly KeyConfiguration[] = [], cipherOf: (key: Uint8Array) => Cipher) =>
  keys.map(({ name = "", secret = "" }) => ({ name, cipher: cipherOf(Buffer.from(secret, "base64")) }));
