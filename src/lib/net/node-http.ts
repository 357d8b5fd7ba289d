/**
 * Node's `http` and `https` without what an `import` of them brings along: to list its names, Node would load its `fetch`
 * and its WebSocket (15 ms and 5 MiB at every start). Types come by `import type`, which is gone at run time.
 */
export const http = process.getBuiltinModule("node:http");
export const https = process.getBuiltinModule("node:https");
