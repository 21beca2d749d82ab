/** @module A list of names that may be long, for a line that may not. */

const SHOWN = 5;

/** `t_1, t_2, t_3, t_4, t_5 and 144 more` */
export function firstFew(names: readonly string[]): string {
  // To say that there is one more takes no less room than to name it.
  if (names.length <= SHOWN + 1) return names.join(", ");
  return `${names.slice(0, SHOWN).join(", ")} and ${names.length - SHOWN} more`;
}
