import { type Endpoint } from "../dispatch.ts";
import { attachEndpoint, execEndpoint } from "./command.ts";
import { type StreamDeps } from "./deps.ts";
import { logEndpoint } from "./log.ts";
import { NodeLinks } from "./node-link.ts";
import { portForwardEndpoint } from "./port-forward.ts";
import { nodeProxyEndpoint, podProxyEndpoint, serviceProxyEndpoint } from "./proxy.ts";

/** Every subresource that a node or a pod serves. */
export function streamEndpoints(deps: StreamDeps): ReadonlyMap<string, Endpoint> {
  const links = new NodeLinks(deps.objects, () => deps.node(), deps.localNodes);
  return new Map([
    ["pods/log", logEndpoint(deps, links)],
    ["pods/exec", execEndpoint(deps, links)],
    ["pods/attach", attachEndpoint(deps, links)],
    ["pods/portforward", portForwardEndpoint(deps, links)],
    ["pods/proxy", podProxyEndpoint(deps)],
    ["services/proxy", serviceProxyEndpoint(deps)],
    ["nodes/proxy", nodeProxyEndpoint(deps, links)],
  ]);
}
