/** @module Signals that ask the program to end, turned into calls that can end things properly. */
import { constants } from "node:os";

/** What shells report for a program that its terminal has left. */
export const EXIT_HANGUP = 129;
const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: EXIT_HANGUP, SIGQUIT: 131 } as const;
type EndSignal = keyof typeof EXIT_STATUS;
const SIGNALS = Object.keys(EXIT_STATUS) as EndSignal[];
/** What ./holdfast puts before all other words. */
const IGNORED_WORD = /^__ignored=(\d+)$/;

export interface Interrupt extends Disposable {
  /** The status to end with when a signal came. */
  readonly exitStatus: number | undefined;
}

/**
 * Goes on ignoring what the caller ignores (`nohup`, a shell's background jobs), and returns the words without the one that tells it:
 * Node makes every signal deadly again before the first line of a program runs, so ./holdfast hands over the mask of its own process.
 */
export function keepIgnored(args: readonly string[]): readonly string[] {
  const mask = IGNORED_WORD.exec(args[0] ?? "")?.[1];
  if (mask === undefined) return args;
  for (const signal of SIGNALS) if (Number(mask) & (1 << (constants.signals[signal] - 1))) process.on(signal, ignore);
  return args.slice(1);
}

/**
 * Until disposed, the first signal and the second one call back; a third ends the process the hard way, in case ending properly hangs. The work
 * that a signal has ended may be over before the second one comes: while the program then closes, that one is still not the third.
 */
export function onInterrupt({ first, second }: { first: () => void; second: () => void }): Interrupt {
  let exitStatus: number | undefined;
  let over = false;
  const heard = SIGNALS.filter((signal) => !process.listeners(signal).includes(ignore));
  const stop = () => {
    for (const signal of heard) process.off(signal, onSignal);
  };
  const onSignal = (signal: EndSignal) => {
    if (exitStatus === undefined) {
      exitStatus = EXIT_STATUS[signal];
      first();
    } else {
      stop();
      if (!over) second();
    }
  };
  for (const signal of heard) process.on(signal, onSignal);
  return {
    get exitStatus() {
      return exitStatus;
    },
    [Symbol.dispose]() {
      over = true;
      if (exitStatus === undefined) stop();
    },
  };
}

/** While another program has the terminal, Ctrl-C is meant for that program, though both receive it. */
export function ignoreCtrlC(): Disposable {
  const leave = () => {};
  process.on("SIGINT", leave);
  return { [Symbol.dispose]: () => void process.off("SIGINT", leave) };
}

function ignore(): void {}
