import { type MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { type Steps } from "#lib/async/turns.ts";
import { type Expression, type PolicyCompiler } from "../../expressions/compile-expression.ts";
import { type CompiledCommon, compileCommon, compileOnce } from "../compile-common.ts";

type Mutation = NonNullable<MutatingAdmissionPolicy["spec"]["mutations"]>[number];

export interface CompiledPolicy extends CompiledCommon {
  readonly mutations: readonly CompiledMutation[];
}
export interface CompiledMutation {
  readonly patchType: Mutation["patchType"];
  readonly expression: Expression;
}

export const compiledPolicy = compileOnce(compileSteps);

function* compileSteps({ spec }: MutatingAdmissionPolicy): Steps<CompiledPolicy> {
  const { compiler, ...common } = yield* compileCommon(spec);
  const mutations: CompiledMutation[] = [];
  for (const mutation of spec.mutations ?? []) {
    mutations.push({ patchType: mutation.patchType, expression: compileMutation(compiler, mutation) });
    yield;
  }
  return { ...common, mutations };
}

/** Only the expressions that make a change can use the types of changes: neither conditions nor variables can. */
export function compileMutation(compiler: PolicyCompiler, mutation: Mutation): Expression {
  const isMerged = mutation.patchType === "ApplyConfiguration";
  const { expression = "" } = (isMerged ? mutation.applyConfiguration : mutation.jsonPatch) ?? {};
  return compiler.compile(expression.trim(), isMerged ? "object" : "JSON patch", { patches: true });
}
