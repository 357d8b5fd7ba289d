/**
 * Node's `http` and `https` without the cost of an `import`: to list their names, Node would load its `fetch` and its
 * WebSocket (15 ms and 5 MiB at every start). Types come from `import type`, which does not exist at run time.
 */
export const http = process.getBuiltinModule("node:http");
export const https = process.getBuiltinModule("node:https");
