import type { Evaluate, FunctionDeclaration, Overload } from "../declare/function.ts";
import { type CallNode, type Node, qualifiedName } from "../syntax/ast.ts";
import type { Type } from "../types/type.ts";
import { isOfType, typeOf } from "../values/type-of.ts";
import { CelError, isError, noSuchOverload, type Value } from "../values/value.ts";
import type { Frame, Run } from "./frame.ts";
import { planIndex } from "./plan-attribute.ts";
import { planConditional, planLogical, planNotStrictlyFalse, planOptionalOr } from "./plan-logic.ts";
import { planInConstant } from "./plan-membership.ts";
import { constant, type Flat, flatPlan, type Plan, type Planner } from "./planner.ts";

/** Functions whose result for a constant is a constant. */
const conversions = new Set("bool bytes double duration dyn int string timestamp type uint".split(" "));

export function planCall(planner: Planner, node: CallNode): Plan {
  switch (node.name) {
    case "_&&_":
      return planLogical(planner, node.arguments, false);
    case "_||_":
      return planLogical(planner, node.arguments, true);
    case "_?_:_":
      return planConditional(planner, node.arguments);
    case "@not_strictly_false":
      return planNotStrictlyFalse(planner, node.arguments);
    case "_[_]":
    case "_[?_]":
    case "_?._":
      return planIndex(planner, node);
    case "@in":
      return planInConstant(planner, node) ?? planFunction(planner, node);
    case "or":
    case "orValue":
      if (node.target && node.arguments.length === 1) return planOptionalOr(planner, node);
  }
  return planFunction(planner, node);
}

/** What a call without a checker may mean is decided here. */
function resolve(
  { environment }: Planner,
  node: CallNode,
): { declaration?: FunctionDeclaration | undefined; isMember: boolean } {
  if (node.resolved) return { declaration: environment.function(node.resolved.name), isMember: node.resolved.isMember };
  const prefix = node.target && qualifiedName(node.target);
  const names = environment.candidates(prefix === undefined ? node.name : `${prefix}.${node.name}`);
  const found = names.map((name) => environment.function(name)).find((each) => each !== undefined);
  if (found || !node.target) return { declaration: found, isMember: prefix === undefined && node.target !== undefined };
  return { declaration: environment.function(node.name), isMember: true };
}

function planFunction(planner: Planner, node: CallNode): Plan {
  const { declaration, isMember } = resolve(planner, node);
  const operands: readonly Node[] = isMember && node.target ? [node.target, ...node.arguments] : node.arguments;
  const args = operands.map((operand) => planner.plan(operand));
  const style = (overload: Overload): boolean =>
    (overload.isMember ?? false) === isMember && overload.parameters.length === args.length;
  const resolved = node.resolved && new Set(node.resolved.overloads);
  const overloads = (declaration?.overloads ?? []).filter(
    (each) => style(each) && (!resolved || resolved.has(each.id)),
  );
  const types = operands.map(({ type }) => type);
  const call = createCall(planner, declaration?.name ?? node.name, overloads, types);
  const plan = applyCall(call, args);
  return foldConversion(declaration?.name ?? "", args, call) ?? plan;
}

/** A conversion of a constant is made once. An error stays where it is, because it may never be reached. */
function foldConversion(name: string, [argument]: readonly Plan[], { invoke }: Call): Plan | undefined {
  if (!conversions.has(name) || argument?.constant === undefined) return undefined;
  const value = invoke(unlimited, [argument.constant]);
  return isError(value) ? undefined : constant(value);
}

const unlimited = {
  work: () => undefined,
  read: () => undefined,
  allocate: () => undefined,
  spend: () => undefined,
} as unknown as Frame;

interface Call {
  /** Computes the result of arguments that are no errors. */
  invoke(frame: Frame, args: readonly Value[]): Value;
  /** What the call cost, if that depends on its arguments. */
  readonly cost?: ((args: readonly Value[], result: Value, frame: Frame) => number) | undefined;
  readonly isPaidFirst: boolean;
  /** For `==` and `!=`, what they are if the arguments are equal. */
  readonly wanted?: boolean | undefined;
  /** Of the only overload, if the types leave no doubt. */
  readonly direct?: Evaluate | undefined;
}

function createCall(
  planner: Planner,
  name: string,
  overloads: readonly Overload[],
  types: readonly (Type | undefined)[],
): Call {
  const wanted = name === "_==_" ? true : name === "_!=_" ? false : undefined;
  if (wanted !== undefined && types.every((type) => type?.kind === "int")) return sameInts(wanted);
  const only = overloads.length === 1 ? overloads[0] : undefined;
  const { cost: byName, work } = planner.environment.costOf(name) ?? {};
  const id = only?.id ?? "";
  const isPaidFirst = !byName && (only?.isPaidFirst ?? false);
  const cost = byName
    ? (args: readonly Value[], result: Value, frame: Frame) =>
        byName(id, args, result, frame) ?? only?.cost?.(args, result, frame) ?? 1
    : only?.cost?.bind(only);
  if (only?.parameters.every((parameter, index) => isCertain(types[index], parameter))) {
    const evaluate = paying(only, work ?? only.work ?? 0);
    return { direct: evaluate, cost, isPaidFirst, wanted, invoke: (frame, args) => evaluate(frame, ...args) };
  }
  const invoke = (frame: Frame, args: readonly Value[]): Value => {
    frame.work(dispatchWork + (work ?? 0));
    return dispatch(name, overloads, frame, args);
  };
  return { cost, isPaidFirst, invoke, wanted };
}

/** Comparing two ints always costs one unit. */
function sameInts(wanted: boolean): Call {
  const direct: Evaluate = (_, left, right) => (left === right) === wanted;
  return { direct, isPaidFirst: false, invoke: (frame, [left = null, right = null]) => direct(frame, left, right) };
}

/** Whether every value of a static type fits a parameter, so that nothing has to be tested while the expression runs. */
function isCertain(type: Type | undefined, parameter: Type): boolean {
  if (parameter.kind === "dyn" || parameter.kind === "parameter") return true;
  return type !== undefined && type.kind === parameter.kind;
}

const isText = ({ kind }: Type): boolean => kind === "string" || kind === "bytes";
/** Reading a long text is work, also for functions that cost one unit however long it is. */
function paying({ evaluate, parameters }: Overload, work: number): Evaluate {
  if (!parameters.some(isText)) return work > 0 ? payingFor(work, evaluate) : evaluate;
  return (meter, ...args) => {
    if (work > 0) meter.work(work);
    for (const value of args) meter.read(value);
    return evaluate(meter, ...args);
  };
}

const payingFor =
  (work: number, evaluate: Evaluate): Evaluate =>
  (meter, ...args) => {
    meter.work(work);
    return evaluate(meter, ...args);
  };

/** Units of work to find an overload while the expression runs. */
const dispatchWork = 20;
/** Units of work of a call whose cost is computed. */
const callWork = 6;

function dispatch(name: string, overloads: readonly Overload[], frame: Frame, args: readonly Value[]): Value {
  for (const value of args) frame.read(value);
  for (const overload of overloads) {
    if (overload.parameters.every((type, index) => isOfType(args[index] as Value, type))) {
      return overload.evaluate(frame, ...args);
    }
  }
  if (/^\W|^_.*_$/.test(name)) return noSuchOverload;
  return new CelError(`no such overload: ${name}(${args.map((value) => typeOf(value).name).join(", ")})`);
}

function applyCall(call: Call, args: readonly Plan[]): Plan {
  const [first, second] = args;
  const direct = call.cost ? undefined : call.direct;
  if (direct && first && args.length === 1) return planUnary(direct, first);
  if (direct && first && second && args.length === 2) return planBinary(direct, first, second);
  if (first && second && args.length === 2) {
    const apply = applyTwo(call);
    const { wanted } = call;
    if (wanted === undefined) return { run: generalBinary(apply, first.run, second.run) };
    return { run: shortEquality({ apply, wanted }, first.run, second.run) };
  }
  return {
    run: general(
      call,
      args.map(({ run }) => run),
    ),
  };
}

function planUnary(evaluate: Evaluate, { flat, run }: Plan): Plan {
  const argument = flat?.run ?? run;
  const applied: Run = (frame) => {
    const value = argument(frame);
    return isError(value) ? value : evaluate(frame, value);
  };
  if (flat) return flatPlan({ cost: flat.cost + 1, run: applied });
  return {
    run: (frame) => {
      frame.spend(1);
      return applied(frame);
    },
  };
}

/** Most comparisons are with a constant, which neither has to be read nor can be an error. */
function planBinary(evaluate: Evaluate, first: Plan, second: Plan): Plan {
  const { constant: known } = second;
  if (first.flat && second.flat) {
    const cost = first.flat.cost + second.flat.cost + 1;
    if (known !== undefined) return flatPlan({ cost, run: paidWithConstant(evaluate, first.flat, known) });
    const { slot } = second.flat;
    const run =
      slot === undefined
        ? paidBinary(evaluate, first.flat.run, second.flat.run)
        : paidWithSlot(evaluate, first.flat, slot);
    return flatPlan({ cost, run });
  }
  return {
    run: known === undefined ? binary(evaluate, first.run, second.run) : binaryWithConstant(evaluate, first.run, known),
  };
}

function binary(evaluate: Evaluate, first: Run, second: Run): Run {
  return (frame) => {
    const left = first(frame);
    const right = second(frame);
    frame.spend(1);
    if (isError(left)) return left;
    return isError(right) ? right : evaluate(frame, left, right);
  };
}

function paidBinary(evaluate: Evaluate, first: Run, second: Run): Run {
  return (frame) => {
    const left = first(frame);
    if (isError(left)) return left;
    const right = second(frame);
    return isError(right) ? right : evaluate(frame, left, right);
  };
}

function binaryWithConstant(evaluate: Evaluate, first: Run, right: Value): Run {
  return (frame) => {
    const left = first(frame);
    frame.spend(1);
    return isError(left) ? left : evaluate(frame, left, right);
  };
}

function paidWithConstant(evaluate: Evaluate, { run: first, slot }: Flat, right: Value): Run {
  if (slot !== undefined) {
    return (frame) => {
      const left = frame.slots[slot] as Value;
      return isError(left) ? left : evaluate(frame, left, right);
    };
  }
  return (frame) => {
    const left = first(frame);
    return isError(left) ? left : evaluate(frame, left, right);
  };
}

/** Loop variables are read where they are, which saves long loops a call. */
function paidWithSlot(evaluate: Evaluate, first: Flat, slot: number): Run {
  const { run, slot: firstSlot } = first;
  if (firstSlot !== undefined) {
    return (frame) => {
      const left = frame.slots[firstSlot] as Value;
      const right = frame.slots[slot] as Value;
      if (isError(left)) return left;
      return isError(right) ? right : evaluate(frame, left, right);
    };
  }
  return (frame) => {
    const left = run(frame);
    if (isError(left)) return left;
    const right = frame.slots[slot] as Value;
    return isError(right) ? right : evaluate(frame, left, right);
  };
}

/** The usual call, without a loop over its arguments. */
function generalBinary(apply: ApplyTwo, first: Run, second: Run): Run {
  return (frame) => {
    frame.work(callWork);
    return apply(frame, first(frame), second(frame));
  };
}

/** Long loops compare numbers and short texts, whose cost is known without asking for it. */
function shortEquality({ apply, wanted }: { apply: ApplyTwo; wanted: boolean }, first: Run, second: Run): Run {
  return (frame) => {
    const left = first(frame);
    const right = second(frame);
    const size = shortSize(left);
    const other = shortSize(right);
    if (size < 0 || other < 0) {
      frame.work(callWork);
      return apply(frame, left, right);
    }
    frame.spend(size === 0 || other === 0 ? 0 : 1);
    return (left === right) === wanted;
  };
}

/** A size up to that of which comparisons cost one unit; negative for other values. */
const shortSize = (value: Value): number =>
  typeof value === "number" ? 1 : typeof value === "string" && value.length <= sizePerUnit ? value.length : -1;
const sizePerUnit = 10;

type ApplyTwo = (frame: Frame, left: Value, right: Value) => Value;

function applyTwo({ cost, direct, invoke, isPaidFirst }: Call): ApplyTwo {
  return (frame, left, right) => {
    if (isError(left) || isError(right)) {
      frame.spend(1);
      return isError(left) ? left : right;
    }
    const values = [left, right];
    if (cost && isPaidFirst) frame.spend(cost(values, null, frame));
    const result = direct ? direct(frame, left, right) : invoke(frame, values);
    if (!cost || !isPaidFirst) frame.spend(cost ? cost(values, result, frame) : 1);
    return result;
  };
}

function general(call: Call, args: readonly Run[]): Run {
  return (frame) => {
    frame.work(callWork);
    const values: Value[] = [];
    let error: CelError | undefined;
    for (const argument of args) {
      const value = argument(frame);
      if (isError(value)) {
        if (args.length > 2) return value;
        error ??= value;
      }
      values.push(value);
    }
    if (error) {
      frame.spend(1);
      return error;
    }
    if (call.cost && call.isPaidFirst) {
      frame.spend(call.cost(values, null, frame));
      return call.invoke(frame, values);
    }
    const result = call.invoke(frame, values);
    frame.spend(call.cost ? call.cost(values, result, frame) : 1);
    return result;
  };
}
