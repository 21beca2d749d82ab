import { testDispatcher } from "./suite.ts";

testDispatcher({
  name: "SQLite",
  open: async () => ({ next: async () => ":memory:", [Symbol.asyncDispose]: async () => {} }),
});
