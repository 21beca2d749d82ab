/** @module Signals that ask the program to end, turned into a call that can end things properly. */

const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type EndSignal = keyof typeof EXIT_STATUS;

export interface Interrupt extends Disposable {
  /** The status to end with when a signal came. */
  readonly exitStatus: number | undefined;
}

/** Until disposed, the first signal calls back; a second one ends the process the hard way, in case ending properly hangs. */
export function onInterrupt(callback: () => void): Interrupt {
  let exitStatus: number | undefined;
  const signals = Object.keys(EXIT_STATUS) as EndSignal[];
  const stop = () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  const onSignal = (signal: EndSignal) => {
    stop();
    exitStatus = EXIT_STATUS[signal];
    callback();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    get exitStatus() {
      return exitStatus;
    },
    [Symbol.dispose]: stop,
  };
}
