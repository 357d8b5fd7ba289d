import { type MatchResources } from "#api/admissionregistration/match-resources.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { isNotFound } from "#api/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Criteria, type MatchSources, matchRequest } from "../matching/criteria.ts";
import { inVersionOf, type SentRequest } from "../matching/sent-request.ts";
import { ConfigurationError, paramResource, paramsOf } from "./params.ts";
import { type PolicyDeps } from "./policy-deps.ts";
import { type Binding, type BoundPolicy, type Policy } from "./policy-index.ts";

/** A policy that is to be evaluated for a request, or why it cannot be. */
export type Match<B extends Binding> =
  | {
      readonly binding: B;
      readonly request: SentRequest;
      readonly params: ApiObject | undefined;
      readonly fault?: undefined;
    }
  | { readonly binding: B | undefined; readonly fault: string };

/** Finds out which policies are about one request. */
export class PolicyMatcher {
  readonly #deps: PolicyDeps;
  readonly #sent: SentRequest;
  readonly #sources: MatchSources;

  constructor(deps: PolicyDeps, sent: SentRequest) {
    this.#deps = deps;
    this.#sent = sent;
    this.#sources = {
      namespaces: { namespaces: deps.informers.of(Namespace) },
      equivalents: (resource) => deps.resources.equivalents(resource),
    };
  }

  /** The namespace of the object; undefined outside of namespaces and for a namespace itself. */
  get namespace(): Namespace | undefined {
    const { resource, namespace: name } = this.#sent;
    return resource.isNamespace ? undefined : this.#sources.namespaces.namespaces.get({ name });
  }

  /** One for each binding and object with parameters. */
  async *matches<P extends Policy, B extends Binding>({
    policy,
    bindings,
  }: BoundPolicy<P, B>): AsyncGenerator<Match<B>> {
    try {
      const resource = await this.#match(policy.spec.matchConstraints);
      if (!resource) return;
      const params = paramResource(this.#deps.resources, policy.spec.paramKind);
      const request = await this.#convert(resource);
      for (const binding of bindings) yield* this.#bound(binding, request, params);
    } catch (error) {
      yield { binding: undefined, fault: configurationFault(error) };
    }
  }

  async *#bound<B extends Binding>(
    binding: B,
    request: SentRequest,
    resource: Resource | undefined,
  ): AsyncGenerator<Match<B>> {
    let found: readonly (ApiObject | undefined)[];
    try {
      if (!(await this.#match(binding.spec.matchResources))) return;
      found = await paramsOf(this.#deps, { resource, paramRef: binding.spec.paramRef }, this.#sent);
    } catch (error) {
      yield { binding, fault: configurationFault(error) };
      return;
    }
    for (const params of found) {
      yield { binding, request, params };
      this.#sent.signal.throwIfAborted();
    }
  }

  #match(constraints: MatchResources | undefined) {
    return constraints ? matchRequest(criteriaOf(constraints), this.#sent, this.#sources) : this.#sent.resource;
  }

  async #convert(resource: Resource): Promise<SentRequest> {
    try {
      return await inVersionOf(this.#deps.resources, this.#sent, resource);
    } catch (error) {
      throw new ConfigurationError(`failed to convert object version: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** What the failure policy decides about. Everything else that is thrown is a fault of ours. */
function configurationFault(error: unknown): string {
  if (error instanceof ConfigurationError || isNotFound(error)) return error.message;
  throw error;
}

const criteriaOf = (constraints: MatchResources): Criteria => ({
  rules: constraints.resourceRules ?? [],
  excluded: constraints.excludeResourceRules ?? [],
  matchPolicy: constraints.matchPolicy,
  namespaceSelector: constraints.namespaceSelector,
  objectSelector: constraints.objectSelector,
});
