import { type Connections } from "../lib/connections.ts";
import { type Latencies } from "../lib/in-flight.ts";
import { type ServerProcess } from "../lib/server-process.ts";

/** The target of the load, and its size. */
export interface Target {
  readonly server: ServerProcess;
  readonly connections: Connections;
  readonly namespace: string;
  readonly pods: number;
  readonly nodes: number;
  readonly watchers: number;
  /** Requests in flight. */
  readonly width: number;
}

export interface Load {
  /** The number of operations. */
  readonly count: number;
  readonly latencies?: Latencies;
}

/** One kind of load. `prepare` is not measured. */
export interface Scenario {
  readonly name: string;
  readonly unit: string;
  prepare?(target: Target): Promise<void>;
  run(target: Target): Promise<Load>;
}

export const podsOf = ({ namespace }: Target): string => `/api/v1/namespaces/${namespace}/pods`;

export const revisionOf = async (connections: Connections, path: string): Promise<string> => {
  const body = await connections.call({ method: "GET", path: `${path}?limit=1` });
  return (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
};
