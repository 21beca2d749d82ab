/** @module Cases: variables of a session, and variables for one call. */
import { expect } from "vitest";
import { printed } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

const AWKWARD = {
  EMPTY: "",
  LINES: "one\ntwo\n\n",
  QUOTES: `it's "quoted" \\ and \`that\``,
  DOLLAR: "$HOME ${x} $(id) !x",
  UNICODE: "é 漢 🙂 e\u0301",
  BLANKS: "  leading\t and trailing  ",
  GLOB: "* ? [a] {a,b} ~",
  CONTROL: "\u0001\u001b[31m\u007f",
  DASH: "-n",
  FUNCTION: "() { :; }; echo shellshock",
};

export const variableCases: Cases = {
  "S32 exported values of any kind persist": async ({ shell }) => {
    const { run, text } = await shell();
    await run('while IFS= read -r -d "" pair; do export "$pair"; done', {
      stdin: Object.entries(AWKWARD)
        .map(([name, value]) => `${name}=${value}\0`)
        .join(""),
    });
    const printed = await text(`for name in ${Object.keys(AWKWARD).join(" ")}; do printf '%s=%s\\0' "$name" "\${!name}"; done`);
    expect(printed.split("\0").slice(0, -1)).toEqual(Object.entries(AWKWARD).map(([name, value]) => `${name}=${value}`));
    // `env` leaves nothing out that a program would see.
    expect(await text("env -0 | tr -d '\\0' | wc -c")).not.toBe("0");
  },

  "S32 bytes that are no UTF-8 survive in a variable": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export BYTES=$'\\xff\\xfe\\x80 \\xc3'");
    await run("true");
    expect(await text('printf %s "$BYTES" | od -An -tx1')).toBe(" ff fe 80 20 c3");
  },

  "S32 attributes of exported variables persist": async ({ shell }) => {
    const { run, text } = await shell();
    await run(
      "declare -ix NUMBER=5; declare -ax LIST=(one 'two three'); declare -ux UPPER=x; readonly FIXED=1; export FIXED; export UNSET",
    );
    await run("NUMBER=5+5; UPPER=loud");
    expect(await text('echo $NUMBER "${LIST[1]}" $UPPER ${UNSET-unset}; (FIXED=2) 2>/dev/null || echo fixed')).toBe(
      "10 two three LOUD unset\nfixed",
    );
  },

  "S32 an exported IFS changes nothing but what it should": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export IFS=:; cd /");
    expect(await text("list=a:b; printf '<%s>' $list; pwd", { env: { ONE: "1" } })).toBe("<a><b>/");
    expect(await text("printf '<%s>' $IFS | wc -c")).toBe("2");
  },

  "S32 variables with Holdfast's own names are neither kept nor followed": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("export __holdfast_saved_cwd=/etc __holdfast_whole=; declare -rx __holdfast_command='echo HIJACK' __holdfast_state=/x");
    await run("readonly HOLDFAST_CALL HOLDFAST_SANDBOX; export A=1");
    expect(await text("pwd; echo $A; declare -p HOLDFAST_CALL | cut -c -10; env | grep -c ^__holdfast || true")).toBe(
      `${directory}\n1\ndeclare -x\n0`,
    );
  },

  "S32 no variable is changed by being saved": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export cwd=mine saved=mine trace=mine name=mine to=mine");
    expect(await text("echo $cwd $saved $trace $name $to", { cwd: "/" })).toBe("mine mine mine mine mine");
    expect(await text("echo $cwd $saved $trace $name $to")).toBe("mine mine mine mine mine");
  },

  "S32 a huge variable does not break the session": async ({ shell }) => {
    const { run, text } = await shell();
    await run("printf -v HUGE '%300000s' x; export HUGE");
    expect(await text("echo ${#HUGE}")).toBe("300000");
    expect((await run("ls /")).stderr).toContain("Argument list too long");
    await run("unset HUGE");
    expect(await text("ls -d /")).toBe("/");
  },

  "S32 many large variables persist": async ({ shell }) => {
    const { run, text } = await shell();
    await run("for i in {1..40}; do printf -v value '%20000s' $i; export BIG_$i=\"$value\"; done");
    expect(await text("echo ${#BIG_1} ${#BIG_40} ${BIG_40// /}")).toBe("20000 20000 40");
  },

  "S32 a login shell sets up a new session, once": async ({ apart }) => {
    const kit = await apart();
    const { run, text, connection } = await kit.shell();
    await printed(connection, 'cat >~/.bash_profile <<<"echo noise; export FROM_LOGIN=1; echo x >>~/logins"');
    expect(await text("echo $FROM_LOGIN", { session: "one" })).toBe("1");
    await run("unset FROM_LOGIN", { session: "one" });
    expect(await text("echo ${FROM_LOGIN-unset}; cat ~/logins", { session: "one" })).toBe("unset\nx");
  },

  "one-call variables win, and are gone afterwards": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export OWN=session");
    expect(await text('echo "$OWN $NEW"', { env: { OWN: "call", NEW: "call" } })).toBe("call call");
    expect(await text('echo "$OWN ${NEW-none}"; env | grep -c ^HOLDFAST_ENV_ || true')).toBe("session none\n0");
  },

  "one-call variables are exported, and any value arrives": async ({ shell }) => {
    const { run } = await shell();
    const { stdout } = await run(["env", "-0"], { env: AWKWARD });
    const entries = stdout.split("\0");
    for (const [name, value] of Object.entries(AWKWARD)) expect(entries).toContain(`${name}=${value}`);
  },

  "what a command does to a one-call variable does not stick": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export OWN=session; export -n PLAIN; readonly_later=1");
    await run("OWN=changed; NEW=changed; export OWN NEW OTHER=kept", { env: { OWN: "call", NEW: "call" } });
    await run("unset OWN NEW", { env: { OWN: "call", NEW: "call" } });
    expect(await text('echo "$OWN ${NEW-none} $OTHER"')).toBe("session none kept");
  },

  "one-call variables that the shell itself uses are restored": async ({ shell }) => {
    const { run, text, directory } = await shell();
    const before = await text('echo "$HOME|$PATH"; declare -p IFS');
    const env = {
      HOME: "/nowhere",
      PATH: "/usr/bin:/bin:/nowhere",
      IFS: ",",
      PWD: "/nowhere",
      OLDPWD: "/nowhere",
      LC_ALL: "C",
      POSIXLY_CORRECT: "1",
    };
    expect(await text("echo $HOME; list=a,b; printf '<%s>' $list", { env })).toBe("/nowhere\n<a><b>");
    expect(await text('echo "$HOME|$PATH"; declare -p IFS')).toBe(before);
    expect(await text("pwd; echo ${POSIXLY_CORRECT-none} ${LC_ALL-none}")).toBe(`${directory}\nnone none`);
    expect((await run("cd -", { env: {} })).stdout).not.toContain("/nowhere");
  },

  "one-call values show in no argument list": async ({ shell }) => {
    const { text } = await shell();
    const secret = `secret-${Math.random()}`;
    const script = "for file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <\"$file\"; echo; done 2>/dev/null | grep -c \"$PATTERN\" || true";
    const env = { SECRET: secret, PATTERN: `secret-[0]${secret.slice("secret-0".length)}` };
    expect(await text(script, { env })).toBe("0");
    expect(await text('echo "$SECRET"', { env })).toBe(secret);
  },

  "a one-call variable that the session made read-only is refused before anything runs": async ({ shell }) => {
    const { run, text } = await shell();
    await run("readonly FIXED=1; export FIXED; export BEFORE=1");
    const attempt = run("export BEFORE=2", { env: { FIXED: "2" } });
    await expect(attempt).rejects.toMatchObject({ code: "invalid-input", facts: { name: "FIXED" } });
    expect(await text("echo $FIXED $BEFORE")).toBe("1 1");
  },
};
