import { KubeconfigError } from "./kubeconfig-file.ts";

/** The sections of a kubeconfig whose entries we add under one name. */
interface Named {
  readonly name: string;
  readonly cluster?: { readonly server?: string } | null;
}
interface File {
  apiVersion?: string;
  kind?: string;
  clusters?: Named[];
  contexts?: Named[];
  users?: Named[];
  "current-context"?: string;
}
const lists = ["clusters", "contexts", "users"] as const;

/** The user's file with our cluster, context and user added. Everything else, including comments, stays unchanged. */
export async function addToKubeconfig(text: string, addition: string, path: string): Promise<string> {
  const document = await open(text, path);
  const { parse } = await import("yaml");
  const added = parse(addition) as File;
  for (const list of lists) {
    for (const entry of added[list] ?? []) {
      removeNamed(document, list, entry.name);
      if (!isList(document, list)) document.set(list, document.createNode([]));
      const entries = document.get(list);
      // An empty list is written on one line, and its new entries would be too.
      if (typeof entries === "object" && entries !== null && "flow" in entries) entries.flow = false;
      document.addIn([list], document.createNode(entry));
    }
  }
  document.set("apiVersion", "v1");
  document.set("kind", "Config");
  // A new node, because a changed value would keep the quotes of the old one.
  document.set("current-context", document.createNode(added["current-context"]));
  return document.toString();
}

/** The same kubeconfig, with its cluster, context and user renamed to this name. */
export async function renameKubeconfig(text: string, name: string): Promise<string> {
  const { parse, stringify } = await import("yaml");
  const file = parse(text) as File;
  const contexts = file.contexts?.map((entry) => ({ ...entry, name, context: { cluster: name, user: name } }));
  const [clusters, users] = [file.clusters, file.users].map((list) => list?.map((entry) => ({ ...entry, name })));
  return stringify({ ...file, clusters, contexts, users, "current-context": name });
}

/** The server of each cluster in the file. */
export async function serversIn(text: string, path: string): Promise<ReadonlyMap<string, string>> {
  const { clusters } = (await open(text, path)).toJS() as File;
  if (!Array.isArray(clusters)) return new Map();
  return new Map(clusters.map(({ name, cluster }) => [name, cluster?.server ?? ""]));
}

/** The same file without what `addToKubeconfig` added under these names. `next` becomes current if one of them was. */
export async function removeFromKubeconfig(
  text: string,
  { names, next }: { readonly names: readonly string[]; readonly next: string },
  path: string,
): Promise<string> {
  const document = await open(text, path);
  for (const list of lists) for (const name of names) removeNamed(document, list, name);
  if (names.includes(String(document.get("current-context")))) document.set("current-context", next);
  return document.toString();
}

type Document = Awaited<ReturnType<typeof open>>;

async function open(text: string, path: string) {
  const { parseDocument, isMap } = await import("yaml");
  const document = parseDocument(text.trim() === "" ? "{}" : text);
  const [fault] = document.errors;
  const advice = "fix it, move it away, or name another file in KUBECONFIG";
  if (fault) throw new KubeconfigError(`${path} is not valid YAML (${fault.message.split("\n")[0]}): ${advice}`);
  if (!isMap(document.contents)) throw new KubeconfigError(`${path} is not a kubeconfig: ${advice}`);
  document.contents.flow = false;
  return document;
}

const isList = (document: Document, list: string): boolean => {
  const node = document.get(list);
  return typeof node === "object" && node !== null && "items" in node;
};

function removeNamed(document: Document, list: string, name: string): void {
  if (!isList(document, list)) return;
  const entries = (document.toJS() as File)[list as (typeof lists)[number]] ?? [];
  for (let at = entries.length - 1; at >= 0; at--) {
    if (entries[at]?.name === name) document.deleteIn([list, at]);
  }
}
