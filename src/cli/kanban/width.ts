/** @module How wide text is in a terminal, where some characters take two places and some none. */

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;
const NARROW = /^[\u0020-\u007e]*$/;
const NONE = /[\p{Mn}\p{Me}\p{Cf}]/u;

export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  return [...text].reduce((sum, character) => sum + places(character), 0);
}

/** Cut to the width, with a mark where it was cut. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let used = 1;
  let kept = "";
  for (const character of text) {
    used += places(character);
    if (used > width) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Exactly the width. */
export function pad(text: string, width: number): string {
  const cut = shorten(text, width);
  return cut + " ".repeat(Math.max(0, width - widthOf(cut)));
}

function places(character: string): number {
  if (NONE.test(character)) return 0;
  return WIDE.test(character) || (character.codePointAt(0) ?? 0) >= 0x20000 ? 2 : 1;
}
