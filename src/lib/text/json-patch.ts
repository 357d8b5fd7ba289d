import { isObject, setOwn } from "#lib/data/json-object.ts";
import { cloneJson } from "./json.ts";
import { PatchError, TestFailed } from "./patch-error.ts";

const maxOperations = 10_000;
/** How much JSON all `copy` operations of one patch may add. */
const maxCopiedBytes = 3 * 1024 * 1024;
/** How many steps one patch may take: moving a list item is one, and looking at a key is a few. */
const maxSteps = 5_000_000;
const stepsPerKey = 20;

/** RFC 6902 as upstream implements it: negative indexes count from the end, and `replace` may set a new member. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  const work: Work = { root: document, owned: new Set(), copiedBytes: 0, steps: 0 };
  for (const operation of operationsOf(patch)) apply(work, operation);
  return work.root;
}

/**
 * The document during the patch. Containers are copied on the first write, and are `owned` from then on: the input is
 * never modified, and a long patch copies each container only once.
 */
interface Work {
  root: unknown;
  readonly owned: Set<object>;
  copiedBytes: number;
  steps: number;
}
type JsonObject = Record<string, unknown>;
type Container = JsonObject | unknown[];
type Operation = Readonly<Record<string, unknown>>;

function operationsOf(patch: unknown): Operation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw malformed(patch, "[]handlers.jsonPatchOp");
  if (patch.length > maxOperations) {
    throw new PatchError(
      413,
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  }
  return patch.map((operation: unknown) => {
    if (operation === null) return {};
    if (!isObject(operation)) throw malformed(operation, "handlers.jsonPatchOp");
    return operation;
  });
}
const malformed = (value: unknown, goType: string): PatchError =>
  new PatchError(
    400,
    `error decoding patch: json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value} into Go value of type ${goType}`,
  );

function apply(work: Work, operation: Operation): void {
  const { op } = operation;
  const step = typeof op === "string" ? steps.get(op) : undefined;
  if (!step) throw unfit(`Unexpected kind: ${typeof op === "string" ? op : "unknown"}`);
  step(work, operation);
}
const steps = new Map<string, (work: Work, operation: Operation) => void>([
  ["add", add],
  ["remove", remove],
  ["replace", replace],
  ["move", move],
  ["test", test],
  ["copy", copy],
]);

function add(work: Work, operation: Operation): void {
  const path = textOf(operation.path, "add operation failed to decode path: missing value");
  const target = find(work, path);
  if (!target) throw unfit(`add operation does not apply: doc is missing path: "${path}": missing value`);
  insert(work, target, { value: operation.value ?? null, context: `error in add for path: '${path}'` });
}

function remove(work: Work, operation: Operation): void {
  const path = textOf(operation.path, "remove operation failed to decode path: missing value");
  const target = find(work, path);
  if (!target) throw unfit(`remove operation does not apply: doc is missing path: "${path}": missing value`);
  take(work, target, `error in remove for path: '${path}'`);
}

function replace(work: Work, operation: Operation): void {
  const path = pathOf("replace", operation);
  const value = operation.value ?? null;
  if (path === "") {
    if (typeof value !== "object" || value === null) throw unfit("replace operation value must be object or array");
    work.root = value;
    return;
  }
  const target = find(work, path);
  if (!target) throw unfit(`replace operation does not apply: doc is missing path: ${path}: missing value`);
  if (!Array.isArray(target.container)) {
    setOwn(target.container, target.key, value);
    return;
  }
  const found = indexIn(target.container, target.key);
  if (typeof found === "string") {
    throw unfit(`replace operation does not apply: doc is missing key: ${path}: missing value`);
  }
  target.container[found] = value;
}

function move(work: Work, operation: Operation): void {
  const from = fromOf("move", operation);
  const source = find(work, from);
  if (!source) throw unfit(`move operation does not apply: doc is missing from path: ${from}: missing value`);
  const value = take(work, source, `error in move for path: '${source.key}'`);
  const path = pathOf("move", operation);
  const target = find(work, path);
  if (!target) throw unfit(`move operation does not apply: doc is missing destination path: ${path}: missing value`);
  insert(work, target, { value, context: `error in move for path: '${path}'` });
}

function copy(work: Work, operation: Operation): void {
  const from = fromOf("copy", operation);
  const source = find(work, from);
  if (!source) throw unfit(`copy operation does not apply: doc is missing from path: ${from}: missing value`);
  const value = read(source, `error in copy for from: '${from}'`);
  const path = textOf(operation.path, "copy operation failed to decode path: missing value");
  const target = find(work, path);
  if (!target) throw unfit(`copy operation does not apply: doc is missing destination path: ${path}: missing value`);
  if (value !== undefined) work.copiedBytes += Buffer.byteLength(JSON.stringify(value));
  if (work.copiedBytes > maxCopiedBytes) {
    throw unfit(
      "Unable to complete the copy, the accumulated size increase of copy is " +
        `${work.copiedBytes}, exceeding the limit ${maxCopiedBytes}`,
    );
  }
  // A clone: otherwise both places would change when one of them is written to.
  insert(work, target, { value: cloneJson(value ?? null), context: "error while adding value during copy" });
}

function test(work: Work, operation: Operation): void {
  const path = pathOf("test", operation);
  const wanted = operation.value ?? null;
  if (path === "") {
    if (same(work, work.root, wanted)) return;
    throw new TestFailed(path);
  }
  const target = find(work, path);
  if (!target) throw unfit(`test operation does not apply: is missing path: ${path}: missing value`);
  const value = read(target, `error in test for path: '${path}'`) ?? null;
  if (!same(work, value, wanted)) throw new TestFailed(path);
}

/** Counts what it compares: a short patch can ask for many comparisons with a large document. */
function same(work: Work, value: unknown, wanted: unknown): boolean {
  if (value === wanted) return true;
  if (typeof value !== "object" || typeof wanted !== "object" || value === null || wanted === null) return false;
  if (Array.isArray(value) || Array.isArray(wanted)) {
    if (!Array.isArray(value) || !Array.isArray(wanted) || value.length !== wanted.length) return false;
    return value.every((item, index) => same(work, item, wanted[index]));
  }
  return sameMembers(work, value as JsonObject, wanted as JsonObject);
}

function sameMembers(work: Work, value: JsonObject, wanted: JsonObject): boolean {
  const keys = Object.keys(value);
  spend(work, keys.length * stepsPerKey);
  const present = keys.filter((key) => value[key] !== undefined);
  if (present.length !== Object.keys(wanted).length) return false;
  return present.every((key) => Object.hasOwn(wanted, key) && same(work, value[key], wanted[key]));
}

function spend(work: Work, steps: number): void {
  work.steps += steps;
  if (work.steps <= maxSteps) return;
  throw new PatchError(413, `The JSON patch is too much work: it takes more than ${maxSteps} steps`);
}

const unfit = (message: string): PatchError => new PatchError(422, message);
function textOf(value: unknown, fault: string): string {
  if (typeof value === "string") return value;
  throw unfit(fault);
}
const pathOf = (op: string, operation: Operation): string =>
  textOf(operation.path, `${op} operation failed to decode path: operation missing path field: missing value`);
const fromOf = (op: string, operation: Operation): string =>
  textOf(operation.from, `${op} operation failed to decode from: operation, missing from field: missing value`);

/** The last container on a path, owned, and the last key of the path. */
interface Target {
  readonly container: Container;
  readonly key: string;
}

function find(work: Work, path: string): Target | undefined {
  const parts = path.split("/");
  if (parts.length < 2) return undefined;
  let container = own(work, work.root);
  if (!container) return undefined;
  work.root = container;
  for (const part of parts.slice(1, -1)) {
    const key = unescapeKey(part);
    const at = Array.isArray(container) ? indexIn(container, key) : key;
    if (Array.isArray(container) && typeof at === "string") return undefined;
    const child: Container | undefined = own(work, member(container, at));
    if (!child) return undefined;
    if (Array.isArray(container)) container[at as number] = child;
    else setOwn(container, key, child);
    container = child;
  }
  return { container, key: unescapeKey(parts.at(-1) ?? "") };
}
const unescapeKey = (part: string): string =>
  part.includes("~") ? part.replace(/~[01]/g, (code) => (code === "~1" ? "/" : "~")) : part;

function own(work: Work, value: unknown): Container | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (work.owned.has(value)) return value as Container;
  const copied: Container = Array.isArray(value) ? value.slice() : copyObject(value as JsonObject);
  work.owned.add(copied);
  return copied;
}
const copyObject = (value: JsonObject): JsonObject => ({ ...value });

function member(container: Container, key: string | number): unknown {
  if (Array.isArray(container)) return container[key as number];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

/** Undefined for a missing member; lists have no missing members. */
function read(target: Target, context: string): unknown {
  if (!Array.isArray(target.container)) return member(target.container, target.key);
  const found = indexIn(target.container, target.key);
  if (typeof found === "string") throw unfit(`${context}: ${found}`);
  return target.container[found];
}

function take(work: Work, { container, key }: Target, context: string): unknown {
  const value = read({ container, key }, context);
  if (Array.isArray(container)) {
    const index = indexIn(container, key) as number;
    spend(work, container.length - index);
    container.splice(index, 1);
  } else if (!Object.hasOwn(container, key)) {
    throw unfit(`${context}: Unable to remove nonexistent key: ${key}: missing value`);
  } else delete container[key];
  return value;
}

function insert(work: Work, { container, key }: Target, { value, context }: { value: unknown; context: string }): void {
  if (!Array.isArray(container)) {
    setOwn(container, key, value);
    return;
  }
  if (key === "-") {
    container.push(value);
    return;
  }
  const index = parseIndex(key);
  if (typeof index === "string") {
    throw unfit(`${context}: value was not a proper array index: '${key}': ${index}`);
  }
  const size = container.length + 1;
  if (index >= size || index < -size) throw unfit(`${context}: ${outside(index)}`);
  const place = index < 0 ? index + size : index;
  spend(work, size - place);
  container.splice(place, 0, value);
}

/** The index that a key stands for, or what is wrong with it. */
function indexIn(list: readonly unknown[], key: string): number | string {
  const index = parseIndex(key);
  if (typeof index === "string") return index;
  if (index >= list.length || index < -list.length) return outside(index);
  return index < 0 ? index + list.length : index;
}
const outside = (index: number): string => `Unable to access invalid index: ${index}: invalid index referenced`;
const parseIndex = (key: string): number | string =>
  /^[+-]?\d{1,15}$/.test(key) ? Number(key) : `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
