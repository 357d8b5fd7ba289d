import { apiVersionOf, type Resource } from "#api/resource.ts";
import { type RemoteKinds } from "#runtime/kinds.ts";
import type { PartV2 } from "#schema/openapi/select-v2.ts";
import { type Answer, type Context, type RequestInfo } from "./request/pipeline.ts";

/** What an extension server says about a group and version: the parts that clients know, checked. */
export interface VersionDiscovery {
  readonly version: string;
  readonly resources: readonly ResourceDiscovery[];
  /** Changes with its OpenAPI document of version 3; absent if it has none. */
  readonly openApiHash?: string | undefined;
  /** What its OpenAPI document of version 2 says about it. */
  readonly openApiV2?: OpenApiPart | undefined;
}

export interface OpenApiPart {
  readonly part: PartV2;
  /** Changes with the document. */
  readonly digest: string;
  readonly etag: string | undefined;
  readonly bytes: number;
}

export interface ResourceDiscovery {
  readonly resource: string;
  readonly responseKind: GroupVersionKind;
  readonly scope: "Namespaced" | "Cluster";
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly SubresourceDiscovery[];
}

export interface SubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind: GroupVersionKind;
  readonly verbs: readonly string[];
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What another server says about a group and version that it serves. */
export interface RemoteVersion extends VersionDiscovery {
  readonly group: string;
  /** The service that stands for the server. */
  readonly server: string;
  /** The server does not answer. */
  readonly isStale: boolean;
}

export interface RemoteResources {
  readonly preferred: readonly Resource[];
  readonly inAllVersions: readonly Resource[];
}

/** Answers requests for the groups and versions of other servers. */
export interface RemoteServer {
  /** Whether another server answers for this group and version. */
  has(group: string, version: string): boolean;
  forward(context: Context, group: string, version: string): Promise<Answer>;
  /** Changes with what `versions` returns. */
  readonly generation: number;
  versions(): readonly RemoteVersion[];
  /** What `versions` describes, as Resources: for each server in the version that it prefers, and in all versions. */
  kinds(): RemoteResources;
  /** Calls the handler after every change of `versions`. */
  subscribe(handler: () => void): void;
}

/** Most clusters have no other servers, so what calls them is loaded with the first one. */
export class RemoteRoutes implements RemoteKinds {
  readonly #handlers = new Set<() => void>();
  #server: RemoteServer | undefined;

  open(server: RemoteServer): void {
    this.#server = server;
    server.subscribe(() => {
      for (const handler of this.#handlers) handler();
    });
  }

  all(): readonly Resource[] {
    return this.#server?.kinds().preferred ?? [];
  }

  inAllVersions(): readonly Resource[] {
    return this.#server?.kinds().inAllVersions ?? [];
  }

  undescribed(): readonly string[] {
    return this.versions()
      .filter(({ isStale }) => isStale)
      .map(({ group, version }) => apiVersionOf({ group, version }));
  }

  subscribe(handler: () => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  get generation(): number {
    return this.#server?.generation ?? 0;
  }

  versions(): readonly RemoteVersion[] {
    return this.#server?.versions() ?? [];
  }

  /** Whether another server answers in whatever form it chooses. */
  answers({ isResource, group, version }: RequestInfo): boolean {
    return isResource && this.#server?.has(group, version) === true;
  }

  /** undefined if this server has to answer itself. */
  resource(context: Context): Promise<Answer> | undefined {
    const { group, version } = context.info;
    return this.#server?.has(group, version) ? this.#server.forward(context, group, version) : undefined;
  }

  /** The same for a path that describes a group and version. */
  path(context: Context): Promise<Answer> | undefined {
    if (!this.#server) return undefined;
    const [, core, group = "", version = ""] = describing.exec(context.info.path) ?? [];
    const [inGroup, inVersion] = core === undefined ? [group, version] : ["", core];
    return this.#server.has(inGroup, inVersion) ? this.#server.forward(context, inGroup, inVersion) : undefined;
  }
}

const describing = /^(?:\/openapi\/v3)?\/(?:api\/([^/]+)|apis\/([^/]+)\/([^/]+))\/?$/;
