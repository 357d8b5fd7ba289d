import { serveFlood } from "./flood.ts";

serveFlood();
