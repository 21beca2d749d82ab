/** @module What was learned last, for processes that run for ever: beyond a number, the oldest is forgotten. */

export type Recent<Key, Value> = Pick<Map<Key, Value>, "get" | "has" | "set" | "delete" | "size">;

const LIMIT = 1000;

/** Only for what can be learned again. */
export function createRecent<Key, Value>(limit = LIMIT): Recent<Key, Value> {
  const known = new Map<Key, Value>();
  const set = known.set.bind(known);
  return Object.assign(known, {
    set(key: Key, value: Value) {
      // What is set again is new again.
      known.delete(key);
      set(key, value);
      for (const oldest of known.keys()) {
        if (known.size <= limit) break;
        known.delete(oldest);
      }
      return known;
    },
  });
}
