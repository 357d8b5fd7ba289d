import type { Environment } from "../declare/environment.ts";
import { type IdentifierNode, type Node, qualifiedName, type SelectNode } from "../syntax/ast.ts";
import { CelError, type Value } from "../values/value.ts";
import type { Run } from "./frame.ts";
import { planSelect } from "./plan-attribute.ts";
import { planCall } from "./plan-call.ts";
import { planComprehension } from "./plan-comprehension.ts";
import { planList, planMap, planStruct } from "./plan-literal.ts";

/** How a node is evaluated. */
export interface Plan {
  readonly run: Run;
  /** The same without the unit that reading a variable costs by itself, if the node is a variable or a path from one. */
  readonly bare?: Run;
  /** The value, if it is known before any evaluation. Constants cost nothing. */
  readonly constant?: Value;
  /** If the node always costs the same, whatever its values: how it runs after that is paid. */
  readonly flat?: Flat;
}

/** Lets whatever is around a node pay for both at once: in long loops, paying takes longer than most operators. */
export interface Flat {
  readonly cost: number;
  readonly run: Run;
  /** Where the value is, if it is that of a loop variable. */
  readonly slot?: number;
}

/** A node whose cost is always the same. */
export function flatPlan(flat: Flat): Plan & { readonly flat: Flat } {
  const { cost, run } = flat;
  return {
    flat,
    run: (frame) => {
      frame.spend(cost);
      return run(frame);
    },
  };
}

/** The state of planning one expression. */
export interface Planner {
  readonly environment: Environment;
  plan(node: Node): Plan;
  /** Plans with a new slot for each variable. */
  within<T>(variables: readonly LoopVariable[], plan: () => T): T;
  newSlot(): number;
}

export interface LoopVariable {
  readonly name: string;
  readonly slot: number;
  /** Computes the value when it is first read. */
  readonly initial?: Run;
}

export function planExpression(environment: Environment, root: Node): Run {
  return createPlanner(environment).plan(root).run;
}

function createPlanner(environment: Environment): Planner {
  const scope: LoopVariable[] = [];
  let slots = 0;
  const planner: Planner = {
    environment,
    plan: (node) => planNode(planner, scope, node),
    newSlot: () => slots++,
    within(variables, plan) {
      scope.push(...variables);
      const result = plan();
      scope.length -= variables.length;
      return result;
    },
  };
  return planner;
}

function planNode(planner: Planner, scope: readonly LoopVariable[], node: Node): Plan {
  switch (node.kind) {
    case "literal":
      return constant(node.value);
    case "identifier":
      return planIdentifier(planner, scope, node);
    case "select":
      if (node.reference)
        return planIdentifier(planner, scope, { ...node, kind: "identifier", name: node.reference.name });
      return node.type ? planSelect(planner, node) : planQualified(planner, node);
    case "call":
      return planCall(planner, node);
    case "list":
      return planList(planner, node);
    case "map":
      return planMap(planner, node);
    case "struct":
      return planStruct(planner, node);
    case "comprehension":
      return planComprehension(planner, node);
  }
}

export function constant(value: Value): Plan {
  const run = (): Value => value;
  return { run, constant: value, flat: { cost: 0, run } };
}

function planIdentifier(planner: Planner, scope: readonly LoopVariable[], node: IdentifierNode): Plan {
  const spelled = node.name;
  const { environment } = planner;
  const value = node.reference?.constant;
  if (value !== undefined) return constant(value);
  const local = scope.findLast(({ name }) => name === spelled);
  const names = node.reference ? [node.reference.name] : environment.candidates(spelled);
  const bare = local ? readSlot(local) : readVariable(names);
  return local && !local.initial
    ? { bare, ...flatPlan({ cost: 1, run: bare, slot: local.slot }) }
    : { bare, run: paid(bare) };
}

const paid =
  (bare: Run): Run =>
  (frame) => {
    frame.spend(1);
    return bare(frame);
  };

/** Without a checker `a.b.c` may be one variable, which is only known when the expression runs. */
function planQualified(planner: Planner, node: SelectNode): Plan {
  const selected = planSelect(planner, node);
  const name = node.isTest ? undefined : qualifiedName(node);
  if (name === undefined) return selected;
  const names = planner.environment.candidates(name);
  const select = selected.bare ?? selected.run;
  return {
    run: (frame) => {
      const found = names.find((each) => frame.variables.get(each) !== undefined);
      return (found === undefined ? undefined : frame.variables.get(found)) ?? select(frame);
    },
  };
}

function readSlot({ slot, initial }: LoopVariable): Run {
  if (!initial) return ({ slots }) => slots[slot] as Value;
  return (frame) => {
    const known = frame.slots[slot];
    if (known !== undefined) return known;
    const value = initial(frame);
    frame.slots[slot] = value;
    return value;
  };
}

function readVariable(names: readonly string[]): Run {
  const missing = new CelError(`no such attribute(s): ${names.join(", ")}`);
  const [only = ""] = names;
  if (names.length <= 1) {
    return ({ variables }) => {
      const value = variables.get(only);
      return value === undefined ? missing : value;
    };
  }
  return ({ variables }) => {
    for (const name of names) {
      const value = variables.get(name);
      if (value !== undefined) return value;
    }
    return missing;
  };
}
