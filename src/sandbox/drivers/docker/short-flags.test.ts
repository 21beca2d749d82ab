import { expect, test } from "vitest";
import { splitShortFlags } from "./short-flags.ts";

test.each([
  [
    ["-itv", "/:/host"],
    ["-i", "-t", "-v", "/:/host"],
  ],
  [["-itv/:/host"], ["-i", "-t", "-v=/:/host"]],
  [
    ["-il", "a=b"],
    ["-i", "-l", "a=b"],
  ],
  [["-id=false"], ["-i", "-d=false"]],
  [["-la=b"], ["-l=a=b"]],
  [["-e=A"], ["-e=A"]],
  [
    ["-v", "-x"],
    ["-v", "-x"],
  ],
  [
    ["--label", "a=b", "--rm"],
    ["--label", "a=b", "--rm"],
  ],
])("%j is read as %j", (args, read) => expect(splitShortFlags(args)).toEqual(read));
