import { type ApiObject, type Resource } from "#api/resource.ts";
import { badRequest, invalid, StatusError } from "#api/status.ts";
import { forbiddenValue, invalidValue, root } from "#schema/field-error.ts";
import { CompactedError, FutureRevisionError } from "#store/store.ts";
import { decodeContinue, encodeContinue } from "../objects/continue-token.ts";
import { codecOf, EncodedObject } from "../objects/encode-once.ts";
import { type Objects } from "../objects/objects.ts";
import { type Selection, select } from "../objects/selection.ts";
import { type Answer, type Context, type ListFacts } from "../pipeline.ts";
import { optionsFault } from "./options.ts";

/** A page, and where the next one starts. */
interface Page<T extends ApiObject> {
  readonly items: readonly EncodedObject<T>[];
  readonly facts: ListFacts;
  readonly shared?: { readonly owner: object; readonly key: string; readonly version: number };
}

export async function listObjects(objects: Objects, context: Context, resource: Resource): Promise<Answer> {
  const { items, facts, shared } = await pageOf(objects, context, resource);
  const answer = { type: "list", resource, items, list: facts } as const;
  return shared ? { ...answer, shared } : answer;
}

async function pageOf(objects: Objects, context: Context, resource: Resource): Promise<Page<ApiObject>> {
  const { query, info } = context;
  const selection = selectionOf(context, resource);
  const limit = limitOf(query);
  const token = query.get("continue");
  const asked = query.get("resourceVersion") ?? "";
  const match = matchOf(query, { token, asked });
  if (token) return await continued(objects, resource, { selection, limit, token, namespace: info.namespace });
  if (match === "Exact")
    return await pageAt(objects, resource, { selection, limit, after: "", revision: revisionOf(asked) });
  const cache = await objects.cache(resource);
  if (asked && asked !== "0") await waitFor(objects, revisionOf(asked));
  const all = cache.select(selection);
  const revision = cache.revision;
  // Any state will do for revision 0, so one answer is cheapest: upstream leaves the limit aside here too.
  if (limit === 0 || all.length <= limit || asked === "0") {
    const { namespace } = selection;
    const page = whole(all, revision);
    return selection.everything
      ? { ...page, shared: { owner: cache, key: namespace, version: cache.version(namespace) } }
      : page;
  }
  const items = all.slice(0, limit);
  return {
    items,
    facts: factsFor({ items, revision, resource, remaining: selection.everything ? all.length - limit : undefined }),
  };
}

const whole = <T extends ApiObject>(items: readonly EncodedObject<T>[], revision: number): Page<T> => ({
  items,
  facts: { resourceVersion: String(revision), continue: "", remainingItemCount: undefined },
});

function factsFor({
  items,
  revision,
  remaining,
}: {
  items: readonly EncodedObject[];
  revision: number;
  resource: Resource;
  remaining: number | undefined;
}): ListFacts {
  const last = items.at(-1)?.object.metadata;
  const after = last?.namespace ? `${last.namespace}/${last.name}` : (last?.name ?? "");
  return {
    resourceVersion: String(revision),
    continue: encodeContinue({ revision, after }),
    remainingItemCount: remaining,
  };
}

interface Chunk {
  readonly selection: Selection;
  readonly limit: number;
}

async function continued(
  objects: Objects,
  resource: Resource,
  chunk: Chunk & { token: string; namespace: string },
): Promise<Page<ApiObject>> {
  const { revision, after } = decodeContinue(chunk.token);
  if (chunk.namespace && !after.startsWith(`${chunk.namespace}/`)) {
    throw badRequest("continue key is not valid: it belongs to another namespace");
  }
  try {
    return await pageAt(objects, resource, {
      ...chunk,
      after,
      revision: revision < 0 ? objects.store.revision : revision,
    });
  } catch (error) {
    if (error instanceof StatusError && error.code === 410) throw restartable(after);
    throw error;
  }
}

/** The state at one revision, from the store's history; with a selector, until enough has matched. */
async function pageAt(
  objects: Objects,
  resource: Resource,
  { selection, limit, after, revision }: Chunk & { after: string; revision: number },
): Promise<Page<ApiObject>> {
  const prefix = `/registry/${resource.storagePrefix}/`;
  const within = selection.namespace ? `${prefix}${selection.namespace}/` : prefix;
  const codec = codecOf(resource);
  const items: EncodedObject[] = [];
  let from = after ? prefix + after : "";
  for (;;) {
    const wanted = limit === 0 ? undefined : Math.max(limit - items.length, 1);
    const page = await historyPage(objects, within, { after: from, limit: wanted, revision });
    for (const entry of page.entries) {
      const encoded = new EncodedObject(codec, entry.revision, { stored: entry.value });
      if (selection.everything || selection.matches(encoded.object)) items.push(encoded);
    }
    if (page.remaining === 0) return whole(items, revision);
    if (limit > 0 && items.length >= limit) {
      return {
        items,
        facts: factsFor({ items, revision, resource, remaining: selection.everything ? page.remaining : undefined }),
      };
    }
    from = page.entries.at(-1)?.key ?? from;
  }
}

async function historyPage(
  objects: Objects,
  prefix: string,
  { after, limit, revision }: { after: string; limit: number | undefined; revision: number },
) {
  try {
    return await objects.store.list(prefix, { revision, ...(after ? { after } : {}), ...(limit ? { limit } : {}) });
  } catch (error) {
    if (error instanceof CompactedError) {
      throw new StatusError("Expired", "The resourceVersion for the provided list is too old.", undefined, {
        cause: error,
      });
    }
    if (error instanceof FutureRevisionError) throw tooLarge(revision, error.current);
    throw error;
  }
}

/** The client may go on from here, with newer state and possibly inconsistent with what it has. */
function restartable(after: string): StatusError {
  const token = encodeContinue({ revision: -1, after });
  const error = new StatusError(
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
  );
  const body = { ...error.toJSON(), metadata: { continue: token } };
  return Object.assign(error, { toJSON: () => body });
}

/** Refuses a revision that has not happened yet; the client is told to try again. */
export async function waitFor(objects: Objects, revision: number): Promise<void> {
  if (objects.store.revision >= revision) return;
  throw tooLarge(revision, objects.store.revision);
}

export const tooLarge = (asked: number, current: number): StatusError =>
  new StatusError("Timeout", `Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });

export function selectionOf({ info, query }: Context, resource: Resource): Selection {
  const fieldSelector = query.get("fieldSelector") ?? "";
  const byName = info.name ? `metadata.name=${info.name}` : "";
  return select(resource, info.namespace, {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: [fieldSelector, byName].filter(Boolean).join(","),
  });
}

function limitOf(query: URLSearchParams): number {
  const text = query.get("limit");
  if (!text) return 0;
  const limit = Number(text);
  if (!Number.isSafeInteger(limit))
    throw optionsFault("ListOptions", [invalidValue(root.child("limit"), text, "must be a whole number")]);
  return Math.max(limit, 0);
}

export function revisionOf(text: string): number {
  if (!/^\d{1,16}$/.test(text)) {
    throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [
      invalidValue(root.child("resourceVersion"), text, "must be a whole number as the server gave it"),
    ]);
  }
  return Number(text);
}

function matchOf(query: URLSearchParams, { token, asked }: { token: string | null; asked: string }): string {
  const match = query.get("resourceVersionMatch") ?? "";
  const path = root.child("resourceVersionMatch");
  const fault = (detail: string) => optionsFault("ListOptions", [forbiddenValue(path, detail)]);
  if (match && !asked) throw fault("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match && token) throw fault("resourceVersionMatch is forbidden when continue is provided");
  if (match && match !== "Exact" && match !== "NotOlderThan") {
    throw optionsFault("ListOptions", [invalidValue(path, match, 'supported values: "Exact", "NotOlderThan", ""')]);
  }
  if (match === "Exact" && asked === "0")
    throw fault('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  if (asked && asked !== "0") revisionOf(asked);
  return match;
}
