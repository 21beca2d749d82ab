import { expect, test } from "vitest";
import { refuseOwnArgs, takeName } from "./own-args.ts";

const check = (...args: string[]) => refuseOwnArgs(args, { labelPrefix: "holdfast" });

test.each([
  [["--name"], "--name"],
  [["--name="], "--name"],
  [["--cap-add", "NET_RAW", "--rm"], "--rm"],
  [["--rm=true"], "--rm"],
  [["-d=false"], "-d"],
  [["-id=false"], "-d"],
  [["-il", "holdfast-agent=0"], "-l holdfast-…"],
  [["--cidfile=/x"], "--cidfile"],
  [["--label", "holdfast-task-id=x"], "--label holdfast-…"],
  [["-l", "holdfast-agent=0"], "-l holdfast-…"],
  [["-lholdfast-agent=0"], "-l holdfast-…"],
  [["--label=holdfast-install=x"], "--label holdfast-…"],
  [["--label-file", "/labels"], "--label-file"],
  [["ubuntu"], "ubuntu"],
])("S4 S12 %j is refused, because a container would not be ours any more", (args, named) => {
  expect(() => check(...args)).toThrow(expect.objectContaining({ code: "config-bad-value", message: expect.stringContaining(named) }));
});

test("S4 all else is the user's own business", () => {
  expect(() =>
    check("--label", "team=a", "-l", "other=holdfast-x", "--shm-size", "1g", "--dns=1.1.1.1", "--privileged", "--restart=always"),
  ).not.toThrow();
  expect(() => refuseOwnArgs(["--label", "holdfast-x=1"], { labelPrefix: "hermes" })).not.toThrow();
});

test.each([
  [[], null, []],
  [["--shm-size", "1g"], null, ["--shm-size", "1g"]],
  [["--shm-size", "1g", "--name", "mine", "--restart=always"], "mine", ["--shm-size", "1g", "--restart=always"]],
  [["--name=first", "--name", "last"], "last", []],
])("S48 the name in %j is taken for the container", (args, name, others) => {
  expect(() => check(...args)).not.toThrow();
  expect(takeName(args)).toEqual({ name, others });
});
