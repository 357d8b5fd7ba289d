import { type MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { type Steps } from "#lib/async/turns.ts";
import { type PolicyCompiler } from "../../expressions/compile-expression.ts";
import { at, type Take } from "../policy-faults.ts";
import { compileMutation } from "./compile-policy.ts";

/** The expressions that only policies of this type have. */
export function* mutationFaults(
  { mutations = [] }: MutatingAdmissionPolicy["spec"],
  compiler: PolicyCompiler,
  take: Take,
): Steps<void> {
  for (const [index, mutation] of mutations.entries()) {
    const member = mutation.patchType === "ApplyConfiguration" ? "applyConfiguration" : "jsonPatch";
    take(at.child("mutations").index(index).child(member, "expression"), compileMutation(compiler, mutation));
    yield;
  }
}
