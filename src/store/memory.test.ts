import { openMemoryStore } from "./memory.ts";
import { storeSuite } from "./store.suite.ts";

storeSuite("MemoryStore", async (clock) => openMemoryStore({ clock }));
