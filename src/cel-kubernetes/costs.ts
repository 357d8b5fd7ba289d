import {
  add,
  type CallEstimate,
  type EstimatedNode,
  fixed,
  multiply,
  perCharacter,
  perPatternCharacter,
  type Range,
  type Size,
  scale,
  union,
} from "#cel/declare/estimate.ts";
import type { EstimatedCall, FunctionCost } from "#cel/declare/function.ts";
import type { Meter } from "#cel/declare/meter.ts";
import { ListValue, MapValue } from "#cel/values/collections.ts";
import { costSize } from "#cel/values/size.ts";
import { OpaqueValue, type Value } from "#cel/values/value.ts";
import { FormatValue } from "./formats.ts";
import { replaceSize } from "./replace-size.ts";

/** What Kubernetes counts for its functions, by name. These numbers are part of the API: they decide which rules are allowed. */

const characters = (size: number): number => Math.ceil(size * perCharacter);
const sizeAt = (args: readonly Value[], index: number): number => costSize(args[index] ?? null);
const one: CallEstimate = { cost: fixed(1) };

const nominal: FunctionCost = { cost: () => 1, estimate: () => one };
const checkCost: FunctionCost = { cost: () => 350_000, estimate: () => ({ cost: fixed(350_000) }) };

/** Going over the first argument, so many times. */
const parsing = (times = 1): FunctionCost => ({
  cost: (_, args) => Math.ceil(sizeAt(args, 0) * times * perCharacter),
  estimate: (_, { arguments: [text] }) => text && { cost: scale(text.size, times * perCharacter) },
});

/** The same for functions whose result is as long as the text. */
const keeping = (read: (call: EstimatedCall) => EstimatedNode | undefined): FunctionCost => ({
  cost: (_, args) => characters(sizeAt(args, 0)),
  estimate: (_, call) => {
    const node = read(call);
    return node && { cost: scale(node.size, perCharacter), size: node.size };
  },
});

/** More than any evaluation may visit. Lists can share their parts, so walking them may take far longer than making them. */
const maxVisits = 200_000;
/** Units of work to visit an element. */
const visitWork = 10;

/** One unit for each element, and less or more for texts. Everything below counts. */
function traversalCost(root: Value, meter: Meter): number {
  const rest: Value[] = [root];
  let [cost, visits] = [0, 0];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (++visits > maxVisits) return Number.POSITIVE_INFINITY;
    if (typeof value === "string") cost += Math.floor(Buffer.byteLength(value) * perCharacter);
    else if (value instanceof Uint8Array) cost += Math.floor(value.length * perCharacter);
    else if (value instanceof ListValue) {
      visits += value.length;
      if (visits > maxVisits) return Number.POSITIVE_INFINITY;
      meter.work(visitWork * value.length);
      for (let index = 0; index < value.length; index++) rest.push(value.at(index));
    } else if (value instanceof MapValue) for (const entry of value.entries()) rest.push(entry.key, entry.value);
    else cost += 1;
  }
  return cost;
}

const traversing: FunctionCost = {
  cost: (_, [list = null], __, meter) => traversalCost(list, meter),
  estimate(_, { target }) {
    if (!target) return undefined;
    const element = target.element();
    if (!element) return { cost: scale(target.size, perCharacter) };
    const isText = element.type.kind === "string" || element.type.kind === "bytes";
    const each = isText ? add(fixed(1), scale(element.size, perCharacter)) : fixed(1);
    return { cost: multiply(target.size, each) };
  },
};

const finding: FunctionCost = {
  cost: (_, args) => characters(1 + sizeAt(args, 0)) * Math.ceil(sizeAt(args, 1) * perPatternCharacter),
  estimate(_, { target, arguments: [pattern] }) {
    if (!target || !pattern) return undefined;
    const cost = multiply(scale(add(target.size, fixed(1)), perCharacter), scale(pattern.size, perPatternCharacter));
    return { cost, size: { min: 0, max: target.size.max } };
  },
};

const replacing: FunctionCost = {
  cost: (_, args) => Math.ceil(sizeAt(args, 0) * 2 * perCharacter),
  estimate(_, { target, arguments: [from, to] }) {
    if (!target || !from || !to) return undefined;
    return { cost: scale(target.size, 2 * perCharacter), size: replaceSize(target.size, from.size, to.size) };
  },
};

const splitting: FunctionCost = {
  cost: (_, args) => Math.ceil(sizeAt(args, 0) * 2 * perCharacter),
  estimate(_, { target, arguments: [, limit] }) {
    if (!target) return undefined;
    const literal = limit?.node?.kind === "literal" ? limit.node.value : undefined;
    const max = typeof literal === "number" ? (literal < 0 ? 2 ** 64 : literal) : target.size.max;
    return { cost: scale(target.size, 2 * perCharacter), size: { min: 0, max } };
  },
};

const joining: FunctionCost = {
  cost: (_, __, result) => Math.ceil(costSize(result) * 2 * perCharacter),
  estimate(_, { target, arguments: [separator] }) {
    if (!target) return undefined;
    const element = target.element();
    const texts: Size = element ? multiply(target.size, element.size) : fixed(0);
    const gaps = { min: Math.max(0, target.size.min - 1), max: Math.max(0, target.size.max - 1) };
    const size = separator ? add(texts, multiply(separator.size, gaps)) : texts;
    return { cost: scale(size, perCharacter), size };
  },
};

/** Comparing addresses: four or sixteen bytes, and the text if it has to be parsed. */
function containing(parsed: string, extra: { cost(size: number): number; estimate: Range }): FunctionCost {
  const bytes: Size = { min: 4, max: 16 };
  return {
    cost(overload, args) {
      const size = sizeAt(args, 0);
      const text = overload === parsed ? characters(sizeAt(args, 1)) : 0;
      return characters(2 * size) + extra.cost(size) + text;
    },
    estimate(overload, { arguments: [other] }) {
      if (!other) return undefined;
      const base = add(scale(add(bytes, bytes), perCharacter), extra.estimate);
      return { cost: overload === parsed ? add(base, scale(other.size, perCharacter)) : base };
    },
  };
}

const containsIp = containing("cidr_contains_ip_string", { cost: () => 0, estimate: fixed(0) });
const containsCidr = containing("cidr_contains_cidr_string", {
  cost: (size) => characters(size) + 1,
  estimate: add(scale({ min: 4, max: 16 }, perCharacter), fixed(1)),
});

const ip: FunctionCost = {
  cost: (overload, args) => (overload === "cidr_ip" ? 1 : characters(sizeAt(args, 0))),
  estimate: (overload, call) => (overload === "cidr_ip" ? one : parsing().estimate?.(overload, call)),
};

const maxNamePattern = 128;
const validating: FunctionCost = {
  cost(_, [format = null, text = null]) {
    if (!(format instanceof FormatValue)) return undefined;
    return characters(1 + costSize(text)) * Math.ceil(format.patternSize * perPatternCharacter);
  },
  estimate: (_, { arguments: [text] }) =>
    text && { cost: scale(scale(text.size, perCharacter), maxNamePattern * perPatternCharacter) },
};

const maxFormatSize = 64;
const equality: FunctionCost = {
  cost: (_, [left]) => (left instanceof OpaqueValue ? 1 : undefined),
  estimate(_, { arguments: [left, right] }) {
    if (!left || !right || left.type.name !== right.type.name) return undefined;
    const { name } = left.type;
    if (name === "kubernetes.NamedFormat") return { cost: scale({ min: 1, max: maxFormatSize }, perCharacter) };
    if (name === "kubernetes.URL")
      return { cost: scale({ min: 1, max: union(left.size, right.size).max }, perCharacter) };
    const isConstant = name === "net.IP" || name === "net.CIDR" || name.startsWith("kubernetes.");
    return isConstant && (left.type.kind === "opaque" || left.type.kind === "struct") ? one : undefined;
  },
};

const selectorCost = (size: Size): Range =>
  add(fixed(10), add(scale(size, perCharacter), scale(scale(size, 0.5), 10 + 40)));
const selecting: FunctionCost = {
  cost: (_, args) => selectorCost(fixed(sizeAt(args, 1))).max,
  estimate: (_, { arguments: [text] }) => text && { cost: selectorCost(text.size) },
};

/** The same cost for a function that takes longer than a simple one: so many units of work for each call. */
const slow = (cost: FunctionCost, work: number): FunctionCost => ({ ...cost, work });

const sharing = (cost: FunctionCost, names: string): Record<string, FunctionCost> =>
  Object.fromEntries(names.split(" ").map((name) => [name, cost]));

export const kubernetesCosts: Readonly<Record<string, FunctionCost>> = {
  check: checkCost,
  ...sharing(nominal, "serviceAccount path group resource subresource namespace name allowed reason error errored"),
  ...sharing(selecting, "fieldSelector labelSelector"),
  ...sharing(traversing, "isSorted sum max min indexOf lastIndexOf"),
  ...sharing(
    keeping(({ arguments: [text] }) => text),
    "url jsonpatch.escapeKey",
  ),
  ...sharing(
    keeping(({ target }) => target),
    "lowerAscii upperAscii substring trim",
  ),
  replace: replacing,
  split: splitting,
  join: joining,
  ...sharing(finding, "find findAll"),
  ...sharing(slow(parsing(), 80), "quantity isQuantity"),
  isIP: slow(parsing(), 200),
  ...sharing(slow(parsing(), 220), "cidr isCIDR semver isSemver"),
  ip: slow(ip, 200),
  "ip.isCanonical": slow(parsing(2), 250),
  masked: slow(nominal, 60),
  ...sharing(nominal, "prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast"),
  ...sharing(nominal, "isGlobalUnicast sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo"),
  ...sharing(
    nominal,
    "add sub major minor patch format.named getScheme getHostname getHost getPort getEscapedPath getQuery",
  ),
  containsIP: slow(containsIp, 150),
  containsCIDR: slow(containsCidr, 280),
  validate: validating,
  "_==_": equality,
};
