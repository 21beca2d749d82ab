/** @module Short options of an engine's client, which may be glued together: `-itv /:/host` is `-i -t -v /:/host`. */

/** Those that stand alone; behind any other the rest of the word is its value. */
const SWITCHES = "dPitq";

/** The words with each option on its own, so that nothing hides behind another one. */
export function splitShortFlags(args: readonly string[]): string[] {
  return args.flatMap((word) => {
    if (!/^-[A-Za-z]./.test(word)) return [word];
    const words: string[] = [];
    let rest = word.slice(1);
    while (rest !== "") {
      const [flag = ""] = rest;
      rest = rest.slice(1);
      // `-d=false` gives a switch a value.
      const alone = SWITCHES.includes(flag) && !rest.startsWith("=");
      words.push(alone ? `-${flag}` : rest === "" ? `-${flag}` : `-${flag}${rest.startsWith("=") ? rest : `=${rest}`}`);
      if (!alone) break;
    }
    return words;
  });
}
