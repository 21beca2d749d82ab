import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProcessInfo } from "../../src/sandbox/process.ts";
import { createTestCli, PROGRAM, type TestCli } from "../helpers/cli.ts";
import { describeIf, testIf } from "../helpers/requirements.ts";
import { openTmux, type TmuxWindow } from "../helpers/tmux.ts";

// A person's pace on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

const WAIT = { timeout: 60_000, interval: 50 };
/** What raw mode would have turned off. */
const ASK_MODES = String.raw`stty -a | tr ' ' '\n' | grep -xE 'echo|opost'`;
const PROMPT = "inside>";

let cli: TestCli;
let window: TmuxWindow;

const processes = () => cli.json<ProcessInfo[]>(["process", "ls"]);
const idle = () => vi.waitUntil(async () => (await processes()).length === 0, WAIT);

describeIf(["cc", "tmux"], "on a real terminal", () => {
  beforeEach(async () => {
    cli = await createTestCli();
    const profile = String.raw`PS1='\[\e[32m\]inside\[\e[0m\]> '`;
    await writeFile(join(cli.env.HOME ?? "", ".bash_profile"), `${profile}\nshopt -q login_shell && echo a login\n`);
    window = await openTmux(cli);
  });
  afterEach(async () => {
    await window[Symbol.asyncDispose]();
    // A shell that has lost its terminal tidies up by itself.
    await vi.waitUntil(() => readdirSync("/proc").every((pid) => !isHoldfastOf(cli, pid)), WAIT);
    await cli.run(["sandbox", "rm", "default", "--force"]);
    await cli[Symbol.asyncDispose]();
  });

  const logIn = async (flags = "") => {
    await window.type(`clear; holdfast shell ${flags}; echo status $?`, "Enter");
    await window.until(PROMPT);
  };

  describe("S37 holdfast shell", () => {
    test("is a login with a coloured prompt, with the session's directory and variables, and gives its status", async () => {
      await cli.run(["exec", "-s", "review", "--", "mkdir sub; cd sub; export COLOUR=red"]);
      await logIn("-s review");
      const shown = await window.until("inside", { colours: true });
      expect(shown).toContain("a login");
      expect(shown).toContain("\u001b[32minside");
      await window.type('test -t 0 && test -t 1 && echo "[$COLOUR ${PWD##*/} $TERM $COLORTERM]"', "Enter");
      await window.until(/\[red sub (screen|tmux)\S* truecolor\]/);
      expect(await processes()).toMatchObject([{ name: "shell", command: "bash --login -i", tty: true, state: "running" }]);
      await window.type("exit 7", "Enter");
      await window.until("status 7");
      expect(await processes()).toEqual([]);
    });

    test("follows the size of the window", async () => {
      await logIn();
      await window.type("stty size", "Enter");
      await window.until("24 80");
      await window.type("until [ \"$(stty size)\" = '30 100' ]; do sleep 0.05; done; echo now $((COLUMNS))", "Enter");
      await window.resize(100, 30);
      await window.until("now 100");
    });

    test("Ctrl-C ends only the command in the foreground", async () => {
      await logIn();
      await window.type("echo 'begun'; sleep 600", "Enter");
      await window.until(/^begun$/m);
      await window.type("", "C-c");
      await window.type("echo status of it: $?", "Enter");
      await window.until("status of it: 130");
    });

    test("is left by Ctrl-P Ctrl-Q, runs on, and is found again as it was", async () => {
      await logIn();
      await window.type("mine=kept; clear", "Enter");
      await window.type("", "C-p", "C-q");
      const shown = await window.until("status 0");
      const [, id] = /come back with: holdfast process attach (p_[0-9a-f]{8})/.exec(shown) ?? [];
      expect(await processes()).toMatchObject([{ id, state: "running" }]);
      await window.type(`clear; holdfast process attach ${id}; echo ended $?`, "Enter");
      // Asked for, since a shell does not draw it anew by itself; and not the one from before, which stays until the window is cleared.
      const promptIsBack = new RegExp(`^(?![^]*come back)[^]*${PROMPT}`);
      await vi.waitUntil(async () => {
        await window.type("", "Enter");
        return promptIsBack.test(await window.until(""));
      }, WAIT);
      await window.type("echo still $mine; exit 4", "Enter");
      await window.until("ended 4");
    });

    test("leaves when other keys are chosen, and Ctrl-P works as usual", async () => {
      await logIn("-t 'two words' --detach-keys ctrl-],q");
      await window.type("echo once $((1+1))", "Enter");
      await window.until("once 2");
      await window.type("clear", "Enter");
      await window.type("", "C-p", "C-p", "Enter");
      await window.until("once 2");
      await window.type("", "C-]", "q");
      await window.until(/come back with: holdfast process attach -t 'two words'\s+p_/);
      await cli.run(["sandbox", "rm", "two words", "--force"]);
    });

    test("ends when its terminal goes away", async () => {
      await logIn();
      await window.type("sleep 600 & echo pid $!", "Enter");
      const [, pid] = /^pid (\d+)$/m.exec(await window.until(/^pid \d+$/m)) ?? [];
      await window.close();
      await idle();
      expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
    });

    test("ends with TERM, and the terminal is as before", async () => {
      await logIn();
      const [pid] = readdirSync("/proc").filter((found) => isHoldfastOf(cli, found));
      process.kill(Number(pid), "SIGTERM");
      await window.until("status 143");
      await idle();
      await window.type(ASK_MODES, "Enter");
      await window.until(/^opost\necho$/m);
    });

    test("ends with its sandbox, and makes no other", async () => {
      await logIn();
      await cli.run(["sandbox", "rm", "default", "--force"]);
      expect(await window.until(/status (125|137)/)).toContain("note: the sandbox of task default was removed");
      expect(await cli.json(["sandbox", "ls"])).toEqual([]);
    });

    testIf("top", "shows top", async () => {
      await logIn();
      // Of one process: on a busy machine there is no room on the screen for one that takes little.
      await window.type("top -d 1 -p $$", "Enter");
      await window.until(/PID +USER[\s\S]*\bbash\b/);
      await window.type("q");
      await window.until(/inside>$/m);
    });
  });

  testIf("vim", "S37 vim draws and writes, in a shell, in exec --tty and after coming back to it", async () => {
    await logIn();
    await window.type("vim -u NONE note", "Enter");
    await window.until(/"note" \[New/);
    await window.type("ione\ntwo", "Escape");
    await window.until(/^one\ntwo\n~\n/);
    await window.type(":wq", "Enter");
    await window.until(/inside>$/m);
    expect(await readFile(join(cli.directory, "note"), "utf8")).toBe("one\ntwo\n");
    await window.type("exit", "Enter");
    await window.until("status 0");

    await window.type("clear; holdfast exec --tty -- vim -u NONE note; echo left $?", "Enter");
    await window.until(/^one\ntwo\n~\n/);
    await window.type("dd:wq", "Enter");
    await window.until("left 0");
    expect(await readFile(join(cli.directory, "note"), "utf8")).toBe("two\n");

    await window.type("clear; holdfast process start --tty --name editor -- vim -u NONE note", "Enter");
    await window.until(/^p_/m);
    await window.type("clear; holdfast process attach editor; echo left $?", "Enter");
    await window.until(/^two\n~\n/);
    await window.type(":q", "Enter");
    await window.until("left 0");
  });

  describe("S37 exec --tty", () => {
    test("runs the call on a terminal of the right size, and keeps the session", async () => {
      await window.type("holdfast exec --tty -- 'test -t 0 && tput cols; export KEPT=1; exit 5'; echo left $?", "Enter");
      await window.until(/^80\nleft 5$/m);
      expect((await cli.run(["exec", "--", "echo [$KEPT]"])).stdout).toBe("[1]\n");
      await window.type(ASK_MODES, "Enter");
      await window.until(/^opost\necho$/m);
    });

    test("is ended by a timeout that was asked for, which is told on an orderly terminal", async () => {
      await window.type("clear; holdfast exec --tty --timeout 0.5 -- 'printf unfinished; sleep 600'; echo left $?", "Enter");
      await window.until(/^(unfinished)?note: the command was ended after .* \(timeout\)\nleft 124$/m);
    });

    test("gives keys, sizes and Ctrl-C to the command", async () => {
      const command =
        "trap 'echo caught' INT; read -r line; echo got $line; until [ \"$(stty size)\" = '30 100' ]; do sleep 0.05; done; echo wide";
      await window.type(`clear; holdfast exec --tty -- '${command.replaceAll("'", String.raw`'\''`)}'; echo left $?`, "Enter");
      await window.type("hello", "Enter");
      await window.until("got hello");
      await window.type("", "C-c");
      await window.until("caught");
      await window.resize(100, 30);
      await window.until("left 0");
    });
  });

  test("S37 output is shown as it is: a line feed alone does not return to the first column", async () => {
    await window.type(String.raw`clear; holdfast exec --tty -- "stty -opost; printf 'ab\ncd\r\n'; stty opost"`, "Enter");
    await window.until(/^ab\n {2}cd\n/m);
  });

  test("K32 K34 a list longer than the screen goes through the pager, and columns end with the screen", async () => {
    for (let count = 1; count <= 30; count += 1) await cli.run(["kanban", "create", `Task ${count}`, "--assignee", "me"]);
    await cli.run(["kanban", "create", "Idea", "--triage"]);
    await window.type("clear; export PAGER=\"sed 's/^/paged: /'\"; holdfast kanban list --status ready; echo first $?", "Enter");
    await window.until(/^paged: +t_\w+ +me +Task 30 [\s\S]*first 0$/m);
    await window.type("clear; holdfast kanban list; echo second $?", "Enter");
    const columns = await window.until("second 0");
    expect(columns).toMatch(/^TRIAGE \(1\) +READY \(30\)$/m);
    expect(columns).toMatch(/… and \d+ more$/m);
    expect(columns).not.toContain("paged:");
    expect(columns).toContain("holdfast kanban list --status ready");
    // One that is not there, and one that is left before its end.
    await window.type("clear; PAGER=no-such-pager holdfast kanban list --status ready; echo third $?", "Enter");
    expect(await window.until("third 0")).toContain("Task 30");
    await window.type("clear; PAGER='head -3' holdfast kanban list --status ready; echo fourth $?", "Enter");
    expect(await window.until("fourth 0")).not.toContain("Task 30");
  });

  test("a question of holdfast itself is answered as before", async () => {
    await cli.run(["process", "start", "--", "sleep 600"]);
    await window.type("holdfast sandbox rm default", "Enter");
    await window.until("[y/N]");
    await window.type("n", "Enter");
    await window.until("is busy with");
  });
});

describe("without a terminal", () => {
  test.each([
    [["shell"], "holdfast shell needs a terminal"],
    [["exec", "--tty", "--", "true"], "--tty needs a terminal"],
    [["exec", "--tty", "--stdin", "--", "true"], "--tty and --stdin cannot be given together"],
    [["exec", "--tty", "--merge", "--", "true"], "--tty and --merge cannot be given together"],
    [["shell", "--detach-keys", "ctrl-ö"], '--detach-keys "ctrl-ö" names a key that does not exist'],
  ])("%j says so and makes nothing", async (args, message) => {
    await using other = await createTestCli();
    const { status, stdout, stderr } = await other.runProcess(args);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toContain(`error: ${message}`);
    expect(await other.json(["sandbox", "ls"])).toEqual([]);
  });
});

/** Other tests may run the same program at the same time. */
function isHoldfastOf({ home }: TestCli, pid: string): boolean {
  try {
    const [words = "", variables = ""] = ["cmdline", "environ"].map((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"));
    return words.includes(`${PROGRAM}\0`) && variables.includes(`HOLDFAST_HOME=${home}\0`);
  } catch {
    // ENOENT: not a process, or one that has just ended.
    return false;
  }
}
