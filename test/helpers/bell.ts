/** @module A listener whose calls can be waited for. */
import { once } from "node:events";

export interface Bell {
  readonly ring: () => void;
  readonly rings: number;
  /** Resolves when `condition` holds after a ring, or holds already. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
}

const LIMIT_MS = 60_000;

export function createBell(): Bell {
  const target = new EventTarget();
  let rings = 0;
  return {
    ring() {
      rings += 1;
      target.dispatchEvent(new Event("ring"));
    },
    get rings() {
      return rings;
    },
    async until(condition) {
      const signal = AbortSignal.timeout(LIMIT_MS);
      for (;;) {
        const next = once(target, "ring", { signal });
        next.catch(() => undefined);
        if (await condition()) return;
        await next;
      }
    },
  };
}
