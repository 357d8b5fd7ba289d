import {
  add,
  type CallEstimate,
  fixed,
  multiply,
  perCharacter,
  perPatternCharacter,
  scale,
} from "../declare/estimate.ts";
import type { EstimatedCall, Overload } from "../declare/function.ts";
import { costSize } from "../values/size.ts";
import type { Value } from "../values/value.ts";

/** How the calls of the language's own functions are counted: while they run, and before. */
export type Costs = Pick<Overload, "cost" | "estimate" | "isPaidFirst">;

const sizeAt = (args: readonly Value[], index: number): number => costSize(args[index] ?? null);
const characters = (size: number): number => Math.ceil(size * perCharacter);

/** Going once over the first argument, at most as far as the argument that the estimate looks at. */
export const traversal = (estimated: "target" | "argument"): Costs => ({
  cost: (args) => characters(sizeAt(args, 0)),
  estimate({ target, arguments: [argument] }) {
    const node = estimated === "target" ? target : argument;
    return node && { cost: scale(node.size, perCharacter) };
  },
});

/** Comparing as much as the shorter of two values. */
export const comparison: Costs = {
  cost: (args) => characters(Math.min(sizeAt(args, 0), sizeAt(args, 1))),
  estimate({ arguments: [left, right] }) {
    if (!left || !right) return undefined;
    const max = Math.min(left.size.max, right.size.max);
    return { cost: scale({ min: max > 0 ? 1 : 0, max }, perCharacter) };
  },
};

/** Copying both operands. */
export const concatenation: Costs = {
  cost: (args) => characters(sizeAt(args, 0) + sizeAt(args, 1)),
  estimate({ arguments: [left, right] }) {
    if (!left || !right) return undefined;
    const size = add(left.size, right.size);
    return { cost: scale(size, perCharacter), size };
  },
};

/** Lists are joined without copying them. */
export const joining: Costs = {
  estimate: ({ arguments: [left, right] }) => left && right && { cost: fixed(1), size: add(left.size, right.size) },
};

export const membership: Costs = {
  cost: (args) => sizeAt(args, 1),
  estimate: ({ arguments: [, list] }) => list && { cost: scale(list.size, 1) },
};

/** A pattern against a text: neither counts as nothing, even if the text is empty. */
export const matching: Costs = {
  cost: (args) => characters(1 + sizeAt(args, 0)) * Math.ceil(sizeAt(args, 1) * perPatternCharacter),
  estimate: (call) => {
    const cost = matchingCost(call);
    return cost && { cost };
  },
};

function matchingCost({ target, arguments: [pattern] }: EstimatedCall): CallEstimate["cost"] | undefined {
  if (!target || !pattern) return undefined;
  return multiply(scale(add(target.size, fixed(1)), perCharacter), scale(pattern.size, perPatternCharacter));
}

export const searching: Costs = {
  cost: (args) => characters(sizeAt(args, 0)) * characters(sizeAt(args, 1)),
  estimate({ target, arguments: [part] }) {
    return target && part && { cost: multiply(scale(target.size, perCharacter), scale(part.size, perCharacter)) };
  },
};

/** A character takes up to four bytes. */
export const encoding: Costs = {
  cost: (args) => characters(sizeAt(args, 0)),
  estimate: ({ arguments: [text] }) =>
    text && { cost: scale(text.size, perCharacter), size: { min: text.size.min, max: scale(text.size, 4).max } },
};

export const decoding: Costs = {
  cost: (args) => characters(sizeAt(args, 0)),
  estimate: ({ arguments: [bytes] }) =>
    bytes && {
      cost: scale(bytes.size, perCharacter),
      size: { min: Math.floor(bytes.size.min / 4), max: bytes.size.max },
    },
};
