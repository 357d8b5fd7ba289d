import { nextTurn } from "#lib/async/turns.ts";

/** Runs the loads one after the other, with a turn of the event loop for others after each. */
export async function loadInTurns(loads: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const load of loads) {
    await load();
    await nextTurn();
  }
}

let loading: Promise<void> | undefined;

/** Loads what compiles rules. An import runs all modules below it in one turn, so the largest have their own. */
export function loadCompiler(): Promise<void> {
  loading ??= loadInTurns([
    () => import("#cel/types/type.ts"),
    () => import("#cel/values/data.ts"),
    () => import("#cel/syntax/parser.ts"),
    () => import("#cel/check/checker.ts"),
    () => import("#cel/compile.ts"),
    () => import("#cel/library/standard.ts"),
    () => import("#cel/library/strings.ts"),
    () => import("#cel-kubernetes/addresses.ts"),
    () => import("#cel-kubernetes/formats.ts"),
    () => import("#cel-kubernetes/environment.ts"),
    () => import("./rules/check-definition.ts"),
  ]);
  return loading;
}
