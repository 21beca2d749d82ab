/** @module Cases: what agents type all day. */
import { expect } from "vitest";
import type { Cases } from "./kit.ts";

export const habitCases: Cases = {
  "here-documents and here-strings": async ({ shell }) => {
    const { run, text } = await shell();
    await run("cat >file <<'END'\n$HOME `id` \\n\n\ttab\nEND\ncat >>file <<-END\n\tstripped $((1 + 1))\n\tEND");
    expect(await text("cat file; cat <<<'one line'")).toBe("$HOME `id` \\n\n\ttab\nstripped 2\none line");
    expect((await run("cat <<END\nunfinished")).stdout).toBe("unfinished\n");
  },

  "descriptors of one's own: none is inherited, and any may be used or closed": async ({ shell }) => {
    const { run, text } = await shell();
    expect(await text("for fd in {0..40}; do if [[ -e /proc/self/fd/$fd ]]; then echo $fd; fi; done")).toBe("0\n1\n2");
    await run("export SECRET=hunter2");
    const all = 'for fd in {3..30}; do eval "exec $fd';
    expect(await run(`${all}>>file"; done; echo mine >&10; export A=1`)).toMatchObject({ exitCode: 0, output: "", warnings: [] });
    expect(await run(`${all}>&-"; done; export B=2`)).toMatchObject({ exitCode: 0, output: "", warnings: [] });
    expect(await run("echo junk >&3; echo junk >&10")).toMatchObject({ stdout: "", warnings: [] });
    expect(await text("echo $A$B; cat file")).toBe("12\nmine");
  },

  "a state that cannot be written whole leaves the session as it was": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export A=1");
    const result = await run("export A=2; enable -n export; echo ran");
    expect(result).toMatchObject({ exitCode: 0, stdout: "ran\n", warnings: [expect.stringMatching(/not saved/)] });
    expect(await text("echo $A")).toBe("1");
  },

  "an ampersand at the end, and wait": async ({ shell }) => {
    const { run, text } = await shell();
    expect(await run("export A=1; true &")).toMatchObject({ exitCode: 0, timedOut: false });
    expect(await text("(sleep 0.05; echo late) & echo early; wait; echo last")).toBe("early\nlate\nlast");
    expect((await run("(exit 7) & wait $!")).exitCode).toBe(7);
    expect(await text("echo $A; jobs")).toBe("1");
  },

  "subshells and pipes keep to themselves": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("(cd /; export SUB=1); echo x | { read -r X; export X; cd /; }; SUBST=$(export Y=1; cd /)");
    expect(await text("pwd; echo ${SUB-no} ${X-no} ${Y-no}")).toBe(`${directory}\nno no no`);
  },

  "pipes that close early": async ({ shell }) => {
    const { run } = await shell();
    expect(await run("yes | head -1")).toMatchObject({ exitCode: 0, stdout: "y\n", stderr: "" });
    expect((await run("set -o pipefail; yes | head -1")).exitCode).toBe(141);
    expect((await run("seq 1 100000 | head -2 | tail -1; echo ${PIPESTATUS[0]}")).stdout).toBe("2\n141\n");
  },

  "output sent elsewhere": async ({ shell }) => {
    const { run, text } = await shell();
    expect(await run("exec >log 2>&1; echo logged; ls /not/there; export A=1")).toMatchObject({ output: "", exitCode: 0 });
    expect(await text("cat log; echo $A")).toMatch(/^logged\nls: .*\n1$/s);
    expect(await run("echo error >&2; echo null >/dev/null; { echo group >&2; } 2>&1")).toMatchObject({
      stdout: "group\n",
      stderr: "error\n",
    });
    expect(await text("echo tee | tee /dev/stderr 2>/dev/null; cat <(echo substituted)")).toBe("tee\nsubstituted");
  },

  "colours, progress bars and other control characters": async ({ shell }) => {
    const { run } = await shell();
    const { stdout } = await run("printf '\\e[31mred\\e[0m\\r10%%\\r100%%\\n\\a\\b\\f\\v'");
    expect(stdout).toBe("\u001b[31mred\u001b[0m\r10%\r100%\n\u0007\b\f\v");
  },

  "no line break at the end, and none at all": async ({ shell }) => {
    const { run } = await shell();
    expect((await run("printf a; printf b >&2")).stdout).toBe("a");
    expect(await run("true")).toMatchObject({ output: "", outputBytes: 0, exitCode: 0 });
    expect((await run("# only a comment")).exitCode).toBe(0);
    expect((await run("echo a;\n\n\n")).stdout).toBe("a\n");
    expect((await run("echo windows\r\n")).stdout).toContain("windows");
  },

  "programs that ask are told that nobody is there": async ({ shell }) => {
    const { run } = await shell();
    expect((await run("read -r -p 'sure? ' answer; echo \"<$answer>\"")).stdout).toBe("<>\n");
    expect((await run("echo x >/dev/tty")).exitCode).not.toBe(0);
    expect((await run("[[ -t 0 || -t 1 || -t 2 ]]; echo $?")).stdout).toBe("1\n");
  },

  "scripts, loops and arithmetic": async ({ shell }) => {
    const { text } = await shell();
    const script = `cat >fib.sh <<'END'
#!/usr/bin/env bash
a=0 b=1
for ((i = 0; i < $1; i++)); do printf '%d ' $a; ((c = a + b, a = b, b = c)); done
END
chmod +x fib.sh; ./fib.sh 10; bash fib.sh 3; . ./fib.sh 2`;
    expect(await text(script)).toBe("0 1 1 2 3 5 8 13 21 34 0 1 1 0 1 ");
  },

  "a virtual environment stays active": async ({ shell }) => {
    const { run, text } = await shell();
    await run("mkdir -p venv/bin; printf '#!/bin/sh\\necho from venv\\n' >venv/bin/tool; chmod +x venv/bin/tool");
    await run("printf 'export PATH=%s/venv/bin:$PATH\\ndeactivate() { PATH=${PATH#*:}; }\\n' \"$PWD\" >venv/activate; . venv/activate");
    expect(await text("tool; hash -r; type -t deactivate")).toBe("from venv\nfunction");
    await run("deactivate");
    expect((await run("tool")).exitCode).toBe(127);
  },

  "git-style work in a directory tree": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("mkdir -p repo/src && cd repo && touch src/a src/b");
    expect(await text("find . -type f | sort | xargs ls")).toBe("./src/a\n./src/b");
    expect(await text("cd src && ls | wc -l | tr -d ' ' && cd - >/dev/null && pwd")).toBe(`2\n${directory}/repo`);
    expect(await text('for f in src/*; do mv "$f" "$f.txt"; done; ls src')).toBe("a.txt\nb.txt");
  },

  "binary files are written and read back": async ({ shell }) => {
    const { run, text } = await shell();
    const bytes = Uint8Array.from({ length: 4096 }, (_, index) => index % 256);
    await run("cat >data", { stdin: bytes });
    expect(await text("wc -c <data | tr -d ' '; od -An -tx1 -N4 data")).toBe("4096\n 00 01 02 03");
  },

  "a home that does not exist is no obstacle": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("export HOME=/not/there");
    expect(await text("pwd; echo ~; echo $HOME")).toBe(`${directory}\n/not/there\n/not/there`);
    expect(await run("cd")).toMatchObject({ exitCode: 1, cwd: directory });
  },

  "an empty PATH is no obstacle": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export PATH=/not/there A=1");
    expect((await run("ls")).exitCode).toBe(127);
    expect(await text("echo $A; export PATH=/usr/bin:/bin; ls -d /")).toBe("1\n/");
    await run("unset PATH; export B=1");
    expect(await text("echo $A $B")).toBe("1 1");
  },

  "variables that loaders read do not stop the session from being saved": async ({ shell }) => {
    const { run, text } = await shell();
    expect((await run("export LD_PRELOAD=/not/there.so LD_LIBRARY_PATH=/not/there A=1")).warnings).toEqual([]);
    expect((await run("unset LD_PRELOAD LD_LIBRARY_PATH; export B=1")).warnings).toEqual([]);
    expect(await text("echo $A $B ${LD_PRELOAD-unset}")).toBe("1 1 unset");
  },

  "BASH_ENV, PROMPT_COMMAND and PS4 of a session do not touch the machinery": async ({ shell }) => {
    const { run, text } = await shell();
    await run("echo 'echo sourced' >env.sh; export BASH_ENV=$PWD/env.sh PROMPT_COMMAND='echo prompt' PS4='+ $(echo traced) '");
    expect(await text("echo plain")).toBe("plain");
    expect(await text("bash -c 'echo child'")).toBe("sourced\nchild");
  },
};
