import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { allResources } from "#api/all.ts";
import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import type { Client } from "#client/client.ts";
import { discoverResources } from "#client/discover.ts";
import { parseYaml } from "#lib/yaml/yaml.ts";

export interface ApplyDeps {
  readonly client: Client;
  /** Lets the cluster work until the condition holds. */
  until(condition: () => Promise<boolean>): Promise<void>;
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  /** Where it comes from, for messages. */
  readonly from: string;
}

/** YAML text, or the path of a file or directory with it. */
export async function readManifests(source: string): Promise<Manifest[]> {
  if (source.includes("\n")) return await manifestsIn(source, "the text");
  const found = await stat(source).catch((error: unknown) => {
    throw new Error(
      `cannot read ${JSON.stringify(source)}: give the path of a file or directory, or YAML of several lines`,
      {
        cause: error,
      },
    );
  });
  if (!found.isDirectory()) return await manifestsIn(await readFile(source, "utf8"), source);
  const names = (await readdir(source, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name)).toSorted();
  if (names.length === 0) throw new Error(`there is no .yaml, .yml or .json file in ${source}`);
  const files = names.map((name) => path.join(source, name));
  return (await Promise.all(files.map(async (file) => manifestsIn(await readFile(file, "utf8"), file)))).flat();
}

async function manifestsIn(text: string, from: string): Promise<Manifest[]> {
  const documents = text.split(/^---(?=\s|$)/m).filter((part) => /^\s*[^#\s]/m.test(part));
  const found: Manifest[] = [];
  for (const [index, document] of documents.entries()) {
    const where = documents.length > 1 ? `${from}, document ${index + 1}` : from;
    const { value, duplicates } = await parseYaml(document).catch((error: unknown) => {
      throw new Error(`${where}: ${error instanceof Error ? error.message : error}`, { cause: error });
    });
    if (duplicates[0] !== undefined) throw new Error(`${where}: ${duplicates[0]}`);
    found.push(...manifestsOf(value, where));
  }
  return found;
}

function manifestsOf(value: unknown, from: string): Manifest[] {
  if (value === null) return [];
  const one = value as Partial<Manifest> & { readonly items?: readonly unknown[] };
  if (typeof value !== "object" || typeof one.apiVersion !== "string" || typeof one.kind !== "string") {
    throw new Error(`${from}: an object needs apiVersion and kind`);
  }
  if (one.kind.endsWith("List") && Array.isArray(one.items))
    return one.items.flatMap((item) => manifestsOf(item, from));
  return [{ ...one, apiVersion: one.apiVersion, kind: one.kind, metadata: one.metadata ?? {}, from }];
}

/** Kinds that others need come first; webhooks come last, because they may refuse what is applied with them. */
const order = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "Secret", "ConfigMap"];
const last = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const rankOf = ({ kind }: Manifest): number => {
  const at = order.indexOf(kind);
  return at >= 0 ? at : order.length + last.indexOf(kind) + 1;
};

/** Applies manifests in an order that works, and waits for new kinds to be served. */
export async function applyManifests(deps: ApplyDeps, manifests: readonly Manifest[]): Promise<ApiObject[]> {
  const applied: ApiObject[] = [];
  const sorted = manifests.toSorted((a, b) => rankOf(a) - rankOf(b));
  for (const [index, manifest] of sorted.entries()) {
    const { from, ...object } = manifest;
    const resource = await resourceOf(deps.client, manifest);
    const isNamespaced = resource.scope === "Namespaced";
    const metadata = isNamespaced ? { namespace: "default", ...object.metadata } : object.metadata;
    const answer = await deps.client
      .apply(resource, { ...object, metadata } as never, {
        fieldManager: "test",
        force: true,
        fieldValidation: "Strict",
      })
      .catch((error: unknown) => {
        if (error instanceof Error) error.message = `${from}: ${error.message}`;
        throw error;
      });
    applied.push(answer);
    const isLastDefinition =
      manifest.kind === CustomResourceDefinition.kind && sorted[index + 1]?.kind !== manifest.kind;
    if (isLastDefinition) await served(deps, applied);
  }
  return applied;
}

/** Until all definitions among these are established. */
async function served({ client, until }: ApplyDeps, objects: readonly ApiObject[]): Promise<void> {
  const names = objects
    .filter(({ kind }) => kind === CustomResourceDefinition.kind)
    .map(({ metadata }) => metadata.name);
  await until(async () => {
    const found = await Promise.all(names.map((name) => client.get(CustomResourceDefinition, { name: name ?? "" })));
    return found.every(({ status }) => isConditionTrue(status?.conditions, "Established"));
  });
}

async function resourceOf(client: Client, { apiVersion, kind, from }: Manifest): Promise<Resource> {
  const isIt = (one: Resource): boolean => apiVersionOf(one) === apiVersion && one.kind === kind;
  const resource = allResources.find(isIt) ?? (await discoverResources(client)).find(isIt);
  if (resource) return resource;
  throw new Error(
    `${from}: the cluster has no kind ${kind} in ${apiVersion}: apply its CustomResourceDefinition first`,
  );
}
