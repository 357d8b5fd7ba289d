import { type APIService, isAvailable } from "#api/apiregistration/api-service.ts";
import { type Address, type ClientIdentity, Connections, type ResolveService } from "#server/extension/connections.ts";

export interface RemoteDeps {
  readonly resolveService: ResolveService;
  /** Our certificate as a front proxy. Without one, extension servers do not believe who the caller is. */
  identity?(): ClientIdentity | undefined;
}

/** The service of an extension server. */
export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** Users are limited by themselves, so this only keeps one server from taking all file descriptors. */
const limits = { calls: 2000, sockets: 2000 };

/** A group and version that another server serves. A changed spec makes a new one; its status changes. */
export class RemoteApi {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: ServiceRef;
  readonly connections: Connections;
  readonly #resolve: ResolveService;
  #object: APIService;
  #turn = 0;

  constructor(object: APIService, { resolveService, identity }: RemoteDeps) {
    const { group = "", version = "", caBundle, insecureSkipTLSVerify: isUnchecked } = object.spec;
    this.name = object.metadata.name;
    this.group = group;
    this.version = version;
    this.service = serviceOf(object);
    this.connections = new Connections({ caBundle, isUnchecked, ...(identity ? { identity } : {}) }, limits);
    this.#resolve = resolveService;
    this.#object = object;
  }

  get object(): APIService {
    return this.#object;
  }

  get groupVersion(): string {
    return this.group ? `${this.group}/${this.version}` : this.version;
  }

  /** The path under which the server describes itself. */
  get path(): string {
    return this.group ? `/apis/${this.group}/${this.version}` : `/api/${this.version}`;
  }

  get isAvailable(): boolean {
    return isAvailable(this.#object);
  }

  /** Takes a new status. Returns whether the server behind it is still the same. */
  update(object: APIService): boolean {
    if (JSON.stringify(reachedBy(object)) !== JSON.stringify(reachedBy(this.#object))) return false;
    this.#object = object;
    return true;
  }

  /** A ready endpoint of the service, a different one each time. */
  async address(path: string): Promise<Address> {
    const { namespace, name, port } = this.service;
    const serverName = `${name}.${namespace}.svc`;
    const endpoint = await this.#resolve(this.service, this.#turn++);
    return { ...endpoint, serverName, authority: `${serverName}:${port}`, path };
  }
}

const serviceOf = ({ spec: { service } }: APIService): ServiceRef => ({
  namespace: service?.namespace ?? "",
  name: service?.name ?? "",
  port: service?.port ?? 443,
});

/** Everything that decides which server is called, and how it is trusted. */
const reachedBy = ({ metadata, spec }: APIService): unknown[] => [
  metadata.uid,
  spec.service,
  spec.caBundle,
  spec.insecureSkipTLSVerify,
];
