import { expect, test } from "vitest";
import { onInterrupt } from "./interrupt.ts";

// The one that neither a terminal nor vitest sends.
const SIGNAL = "SIGQUIT";

function listen() {
  const before = process.listenerCount(SIGNAL);
  const called: string[] = [];
  const interrupt = onInterrupt({ first: () => called.push("first"), second: () => called.push("second") });
  return { interrupt, called, left: () => process.listenerCount(SIGNAL) - before };
}

test("S33 the first signal and the second call back, and nothing stands before a third", () => {
  const { interrupt, called, left } = listen();
  process.emit(SIGNAL, SIGNAL);
  process.emit(SIGNAL, SIGNAL);
  expect({ called, left: left(), status: interrupt.exitStatus }).toEqual({ called: ["first", "second"], left: 0, status: 131 });
  interrupt[Symbol.dispose]();
});

test("S33 a second signal does not end a program that closes after the first, and nothing stands before a third", () => {
  const { interrupt, called, left } = listen();
  process.emit(SIGNAL, SIGNAL);
  interrupt[Symbol.dispose]();
  expect(left()).toBe(1);
  process.emit(SIGNAL, SIGNAL);
  expect({ called, left: left(), status: interrupt.exitStatus }).toEqual({ called: ["first"], left: 0, status: 131 });
});

test("S33 without a signal nothing is left when the work is over", () => {
  const { interrupt, called, left } = listen();
  expect(left()).toBe(1);
  interrupt[Symbol.dispose]();
  expect({ called, left: left(), status: interrupt.exitStatus }).toEqual({ called: [], left: 0, status: undefined });
});
