import type { Value } from "../values/value.ts";
import type { Node } from "./ast.ts";

/** Rewrites a call before it is checked. Undefined means that the call is an ordinary one. */
export interface Macro {
  readonly name: string;
  readonly isMember: boolean;
  readonly argumentCount: number;
  expand(build: Builder, target: Node | undefined, args: readonly Node[]): Node | undefined;
}

/** Makes the nodes of a macro, all at the place of its call. */
export interface Builder {
  readonly offset: number;
  call(name: string, ...args: readonly Node[]): Node;
  memberCall(name: string, target: Node, ...args: readonly Node[]): Node;
  identifier(name: string): Node;
  literal(value: Value): Node;
  list(...elements: readonly Node[]): Node;
  copy(node: Node): Node;
  fail(at: Node, message: string): never;
}

export const macroKey = (name: string, count: number, isMember: boolean): string => `${name}:${count}:${isMember}`;
