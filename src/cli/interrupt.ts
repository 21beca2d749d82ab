/** @module Signals that ask the program to end, turned into calls that can end things properly. */

const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type EndSignal = keyof typeof EXIT_STATUS;
const SIGNALS = Object.keys(EXIT_STATUS) as EndSignal[];

export interface Interrupt extends Disposable {
  /** The status to end with when a signal came. */
  readonly exitStatus: number | undefined;
}

/** Until disposed, the first signal and the second one call back; a third ends the process the hard way, in case ending properly hangs. */
export function onInterrupt({ first, second }: { first: () => void; second: () => void }): Interrupt {
  let exitStatus: number | undefined;
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = (signal: EndSignal) => {
    if (exitStatus === undefined) {
      exitStatus = EXIT_STATUS[signal];
      first();
    } else {
      stop();
      second();
    }
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    get exitStatus() {
      return exitStatus;
    },
    [Symbol.dispose]: stop,
  };
}

/** While another program has the terminal, Ctrl-C is meant for that program, though both receive it. */
export function ignoreCtrlC(): Disposable {
  const ignore = () => {};
  process.on("SIGINT", ignore);
  return { [Symbol.dispose]: () => void process.off("SIGINT", ignore) };
}
