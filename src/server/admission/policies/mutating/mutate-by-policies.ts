import { type MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { type MutatingAdmissionPolicyBinding } from "#api/admissionregistration/mutating-admission-policy-binding.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { StatusError, serviceUnavailable } from "#api/status.ts";
import { Slice } from "#lib/async/turns.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { kindText } from "#server/apply/check-applied.ts";
import { because, type RefusalCause, shortExpression } from "#server/refusal.ts";
import { changeable, changeObject } from "../../changes/change-object.ts";
import { type Rounds } from "../../changes/rounds.ts";
import { RequestAccess } from "../../expressions/access.ts";
import { OutOfBudget } from "../../expressions/stage.ts";
import { asSent, inVersionOf, kindOf, type SentRequest } from "../../matching/sent-request.ts";
import { type AdmissionRequest } from "../../plugin.ts";
import { startHop } from "../../record-admission.ts";
import { refusal } from "../../refuse.ts";
import { type Evaluation, meetsConditions, policyBudget, stageFor } from "../evaluate-common.ts";
import { PolicyMatcher } from "../match-policy.ts";
import { countCheck } from "../policy-metrics.ts";
import { applyConfiguration } from "./apply-configuration.ts";
import { applyOperations } from "./apply-operations.ts";
import { type CompiledMutation, type CompiledPolicy, compiledPolicy } from "./compile-policy.ts";
import { type BoundMutatingPolicy, type MutatingPolicyDeps } from "./mutating-policies.ts";
import { MutationError } from "./mutation-error.ts";

/** Lets the policies change the object of a request, one after the other. Throws if one of them fails. */
export async function mutateByPolicies(
  deps: MutatingPolicyDeps,
  policies: readonly BoundMutatingPolicy[],
  { request, round }: { readonly request: AdmissionRequest; readonly round: Rounds },
): Promise<void> {
  round.begin(request.object);
  const mutation = new Mutation(deps, request, round);
  // As upstream, all policies are matched with the object as it was before the first of them changed it.
  for (const bound of policies) await mutation.match(bound);
  await mutation.run();
  round.end(request.object);
  mutation.throwIfFailed();
}

interface Invocation {
  readonly policy: MutatingAdmissionPolicy;
  readonly binding: MutatingAdmissionPolicyBinding;
  /** In whose version the policy sees the object. */
  readonly resource: Resource;
  readonly params: ApiObject | undefined;
}

interface Failure {
  readonly message: string;
  readonly reason: "Forbidden" | "Invalid";
  readonly cause: RefusalCause;
}

const maxCauses = 100;
const patchers = { ApplyConfiguration: applyConfiguration, JSONPatch: applyOperations };

/** One request on its way through all policies. */
class Mutation {
  readonly #deps: MutatingPolicyDeps;
  readonly #request: AdmissionRequest;
  readonly #round: Rounds;
  readonly #matcher: PolicyMatcher;
  readonly #access: RequestAccess;
  readonly #slice = new Slice();
  readonly #invocations: Invocation[] = [];
  readonly #failures: Failure[] = [];

  constructor(deps: MutatingPolicyDeps, request: AdmissionRequest, round: Rounds) {
    this.#deps = deps;
    this.#request = request;
    this.#round = round;
    this.#matcher = new PolicyMatcher(deps, asSent(request, deps.views.scaleOf));
    this.#access = new RequestAccess(deps.authorizers, request.user);
  }

  async match(bound: BoundMutatingPolicy): Promise<void> {
    const { policy } = bound;
    for await (const match of this.#matcher.matches(bound)) {
      const { binding } = match;
      if (match.fault === undefined) {
        const { request, params } = match;
        this.#invocations.push({ policy, binding: match.binding, resource: request.resource, params });
      } else {
        const message = `failed to configure ${binding ? "binding" : "policy"}: ${match.fault}`;
        this.#fail({ policy, binding }, message, { reason: "Forbidden" });
      }
    }
  }

  async run(): Promise<void> {
    for (const invocation of this.#invocations) {
      await this.#invoke(invocation);
      this.#request.signal.throwIfAborted();
    }
    // As upstream, a policy that wants to know of changes is asked again after its own ones, too.
    if (this.#round.hasChanged) this.#round.repeatWaiting();
  }

  throwIfFailed(): void {
    const [first] = this.#failures;
    if (!first) return;
    const { details } = refusal(this.#request, first.message);
    const causes = this.#failures.slice(0, maxCauses).map(({ message }) => ({ message }));
    const refused = new StatusError(first.reason, first.message, { ...details, causes }, { code: 403 });
    throw because(refused, first.cause);
  }

  async #invoke(invocation: Invocation): Promise<void> {
    const { policy, binding, params } = invocation;
    const compiled = await compiledPolicy(policy);
    const { matches, error } = await meetsConditions(await this.#evaluation(compiled, invocation));
    if (error !== undefined) this.#fail(invocation, error);
    if (!matches) return;
    const names = [policy.metadata.name, binding.metadata.name, params?.metadata.namespace, params?.metadata.name];
    const id = JSON.stringify(names);
    if (!this.#round.calls(id)) return;
    let hasChanged = false;
    for (const mutation of compiled.mutations) {
      if (this.#slice.isOver) await this.#slice.rest();
      hasChanged = (await this.#mutate(invocation, compiled, mutation)) || hasChanged;
    }
    this.#round.called(id, { hasChanged, wantsAgain: policy.spec.reinvocationPolicy === "IfNeeded" });
  }

  /** Each change is made from the object as the one before has left it. Returns whether it made a difference. */
  async #mutate(invocation: Invocation, compiled: CompiledPolicy, mutation: CompiledMutation): Promise<boolean> {
    const evaluation = await this.#evaluation(compiled, invocation);
    const { request: view } = evaluation.facts;
    const { object } = view;
    if (!object) return false;
    const resource = changeable(view);
    if (!resource) throw unknownKind(view);
    const { policy, binding } = invocation;
    const by = `policy ${policy.metadata.name}`;
    const startMs = performance.now();
    const count = (error?: string) => {
      const check = { policy: policy.metadata.name, binding: binding.metadata.name, error };
      countCheck(this.#deps.metrics, "mutating", { ...check, seconds: (performance.now() - startMs) / 1000 });
    };
    const endHop = startHop(this.#deps.recorder, this.#request, { hop: "mutate", by });
    try {
      const changed = patchers[mutation.patchType](resource, object, await written(evaluation, mutation));
      const changes = await changeObject(this.#deps, { request: this.#request, view, changed });
      count();
      const expression = shortExpression(mutation.expression.source);
      if (changes) endHop?.({ binding: binding.metadata.name, expression, changes });
      return changes !== undefined;
    } catch (error) {
      count(messageOf(error));
      if (!(error instanceof MutationError || error instanceof OutOfBudget)) throw error;
      this.#fail(invocation, error.message, { expression: mutation.expression.source });
      return false;
    }
  }

  async #evaluation(
    policy: CompiledPolicy,
    { policy: invoked, resource, params }: Invocation,
  ): Promise<Evaluation<CompiledPolicy>> {
    const sent = asSent(this.#request, this.#deps.views.scaleOf);
    const request = await inVersionOf(this.#deps.resources, sent, resource);
    const facts = { request, sent, namespace: this.#matcher.namespace, params, access: this.#access };
    const counted = { name: invoked.metadata.name, metrics: this.#deps.metrics };
    return { policy, facts, slice: this.#slice, counted };
  }

  #fail(
    { policy, binding }: Pick<Invocation, "policy"> & { readonly binding: Invocation["binding"] | undefined },
    why: string,
    { reason = "Invalid", expression }: Partial<Pick<Failure, "reason"> & Pick<RefusalCause, "expression">> = {},
  ): void {
    if (policy.spec.failurePolicy === "Ignore") return;
    const { name } = policy.metadata;
    const by = binding ? `policy '${name}' with binding '${binding.metadata.name}'` : `policy ${JSON.stringify(name)}`;
    const cause = { by: `MutatingAdmissionPolicy ${name}`, binding: binding?.metadata.name, expression };
    this.#failures.push({ message: `${by} denied request: ${why}`, reason, cause });
  }
}

async function written(evaluation: Evaluation, { expression }: CompiledMutation) {
  if (expression.fault !== undefined) throw new MutationError(expression.fault);
  const { value, error } = await stageFor(evaluation, { budget: policyBudget }).evaluate(expression);
  if (error !== undefined) throw new MutationError(error);
  return value;
}

/** Such as the options of a connection, which nobody keeps. */
function unknownKind(view: SentRequest): StatusError {
  const { group, version, kind } = kindOf(view);
  const shown = kindText(`${group}/${version}`, kind);
  const delay = "There can be a delay between when CustomResourceDefinitions are created and when they are available.";
  return serviceUnavailable(`Resource kind ${shown} not found. ${delay}`);
}
