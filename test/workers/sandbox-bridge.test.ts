import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../src/app/create-app.ts";
import { useSandbox } from "../../src/app/sandbox-of-task.ts";
import { openBridge } from "../../src/app/worker-bridge/bridge.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { Job } from "../../src/dispatcher/job.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

/** Tells what it was called with: each argument in brackets, who it is, and its input. */
const PROGRAM = `#!/bin/sh
if [ "$1" = mcp ]; then
  IFS= read -r message
  who="$HOLDFAST_TASK $HOLDFAST_RUN_TOKEN $HOLDFAST_WORKSPACE \${SECRET-none}"
  id=$(printf '%s' "$message" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case $message in
    *kanban_request_review*) echo 'to stderr' >&2; exit 1 ;;
    *kanban_block*) failed=true ;;
    *notifications*) exit 0 ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":{"isError":%s,"given":{"message":%s,"who":"%s"}}}\\n' "$id" "\${failed-false}" "$message" "$who"
  exit 0
fi
case "$2 $3" in
  'context '*) cat "$HOLDFAST_HOME/context"; exit 0 ;;
  'show --json') cat "$HOLDFAST_HOME/shown"; exit 0 ;;
esac
for each; do printf '[%s]' "$each"; done
printf '\\n%s\\n' "$HOLDFAST_TASK $HOLDFAST_RUN_TOKEN $HOLDFAST_WORKSPACE \${SECRET-none}"
for each; do case $each in --artifact=* | */copied) cat "\${each#*=}" ;; esac; done
[ "$2" != log ] || { echo waiting >>"$HOLDFAST_HOME/calls"; while [ ! -e "$HOLDFAST_HOME/go" ]; do sleep 0.1; done; }
cat
printf 'to stderr\\n' >&2
[ "$2" != block ] || exit 3
`;

interface Bench {
  readonly directory: string;
  readonly sandbox: Sandbox;
  readonly said: string[];
  readonly lastWords: string[];
  readonly bin: string;
  /** In the sandbox, with `holdfast` first on the path. */
  sh(script: string, env?: Record<string, string>, stdin?: string): Promise<{ stdout: string; stderr: string; exitCode: number }>;
  close(): Promise<void>;
}

/** A bridge into a sandbox on this machine: for the bridge it makes no difference. */
async function bridge(patience = { stepSeconds: 1, steps: 60 }): Promise<Bench> {
  const place = await temporaryDirectory();
  const directory = place.path;
  const workspace = join(directory, "outside");
  await mkdir(workspace);
  const program = join(directory, "program");
  await writeFile(program, PROGRAM);
  await chmod(program, 0o755);
  const plain = { PATH: process.env.PATH ?? "", HOME: directory };
  const app = await createApp({ environment: { ...plain, HOLDFAST_HOME: directory }, cwd: workspace });
  const { sandbox, cleanup } = await useSandbox(app, "bridge");
  const job = {
    run: 7,
    task: "t_0000000a",
    board: "default",
    profile: "default",
    token: "the-token",
    home: directory,
    workspace,
    mark: "m",
  };
  const said: string[] = [];
  const lastWords: string[] = [];
  const open = await openBridge({ ...job, database: join(directory, "db") } as Job, {
    sandbox,
    inside: "/inside",
    program: [program],
    plain,
    clock: systemClock,
    patience,
    say: (line) => void said.push(line),
    beforeLastWord: async () => void lastWords.push("before"),
    afterLastWord: () => void lastWords.push("after"),
  });
  onTestFinished(async () => {
    await writeFile(join(directory, "go"), "");
    await open.close();
    await cleanup({ forceRemove: true, purge: true });
    await app.close();
    await place[Symbol.asyncDispose]();
  });
  const sh: Bench["sh"] = (script, env = {}, stdin) =>
    sandbox.run(`PATH=${open.bin}:$PATH; ${script}`, { session: "worker", env, cwd: directory, ...(stdin !== undefined && { stdin }) });
  return { directory, sandbox, said, lastWords, bin: open.bin, sh, close: open.close };
}

describe("a bridge to the board", () => {
  test("K28 K29 hands arguments of any kind, input, both outputs and the status through, as the run it belongs to", async () => {
    const { sh, lastWords } = await bridge();
    const first = await sh(
      `holdfast kanban comment 'two
lines' </dev/null; holdfast kanban create '' --body="it's \\"so\\" & \\$(x)" --triage --parent t_1 --parent t_2`,
      { SECRET: "seen" },
    );
    expect(first.stdout).toBe(
      "[kanban][comment][--][two\nlines]\nt_0000000a the-token /inside none\n" +
        '[kanban][create][--body=it\'s "so" & $(x)][--triage][--parent=t_1][--parent=t_2][--][]\nt_0000000a the-token /inside none\n',
    );
    expect(first.stderr).toBe("to stderr\nto stderr\n");
    expect(lastWords).toEqual([]);
    const second = await sh(
      "printf 'a\\nb' | holdfast kanban comment -; printf unread | holdfast kanban show; holdfast kanban block why; echo $?",
    );
    expect(second.stdout.split("\n").filter((line) => !line.startsWith("t_"))).toEqual([
      "[kanban][comment][--][-]",
      "a",
      "b[kanban][show]",
      "[kanban][block][--][why]",
      "3",
      "",
    ]);
    // It was refused, so the run goes on.
    expect(lastWords).toEqual(["before"]);
  });

  test("K29 K30 fetches files that are named, wherever they are in the sandbox, and nothing but regular ones", async () => {
    const { sh, directory, lastWords } = await bridge();
    const done = await sh(
      "mkdir sub; cd sub; printf content >'a b'; printf more >../c; holdfast kanban complete --summary ok --artifact 'a b' --artifact=../c",
    );
    expect(done.stdout).toMatch(
      /^\[kanban\]\[complete\]\[--summary=ok\]\[--artifact=\/inside\/1\/a b\]\[--artifact=\/inside\/2\/c\]\n.*\ncontentmore$/,
    );
    expect(lastWords).toEqual(["before", "after"]);
    const refused = await sh(`ln -s /etc/passwd link; mkfifo pipe; truncate -s 26214401 large
      for each in link pipe . large absent; do holdfast kanban attach "$each"; echo $?; done`);
    expect(refused.stdout).toBe("1\n1\n1\n1\n1\n");
    expect(refused.stderr.match(/^error: .*/gm)).toEqual([
      "error: link cannot be read: it is a link",
      "error: pipe cannot be read: it is not a regular file",
      "error: . cannot be read: it is a directory",
      "error: large: more than 26214400 bytes, which are the most",
      "error: there is no absent",
    ]);
    expect((await sh("printf x >copied; holdfast kanban attach copied")).stdout).toContain(`[attach][--][/inside/0/copied]`);
    expect(directory).not.toBe("/inside");
  });

  test("K29 takes - for a file in the sandbox, and never for one on the host, unless the verb reads its input by that name", async () => {
    const { sh } = await bridge();
    const call = (name: string, args: object) =>
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `kanban_${name}`, arguments: args } });
    const absent = await sh("holdfast kanban attach - </dev/null; holdfast kanban complete --artifact=- </dev/null");
    expect([absent.stdout, absent.stderr.match(/^error: .*/gm)]).toEqual(["", ["error: there is no -", "error: there is no -"]]);
    const there = await sh(
      "printf content >./-; holdfast kanban attach - </dev/null; printf text | holdfast kanban create x --body-file -",
    );
    expect(there.stdout).toContain("[kanban][attach][--][/inside/0/-]\n");
    expect(there.stdout).toMatch(/\[create\]\[--body-file=-\]\[--\]\[x\]\n.*\ntext$/);
    const tools = await sh("holdfast mcp", {}, `${call("attach", { path: "-" })}\n${call("complete", { artifacts: ["-"] })}`);
    expect(tools.stdout).toContain('"path":"/inside/0/-"');
    expect(tools.stdout).toContain('"artifacts":["/inside/0/-"]');
  });

  test("K29 brings in the files of the tasks before its own that a context names, and those of no others", async () => {
    const { sh, directory } = await bridge();
    const own = "t_0000000a";
    const [parent, stranger] = ["t_0000000b", "t_0000000c"];
    const path = (task: string) => join(directory, "kanban/boards/default/attachments", task, "out.txt");
    for (const task of [own, parent, stranger]) {
      await mkdir(join(path(task), ".."), { recursive: true });
      await writeFile(path(task), `of ${task}`);
    }
    await writeFile(join(directory, "context"), `${[own, parent, stranger].map(path).join("\n")}\n`);
    await writeFile(join(directory, "shown"), JSON.stringify({ parents: [{ id: parent }] }));
    const { stdout } = await sh("holdfast kanban context | tee named; head -n 2 named | xargs cat");
    const [first = "", second = "", third = "", ...rest] = stdout.split("\n");
    expect([first, second]).toEqual([
      expect.stringMatching(/\/\.holdfast-run-7-.*\/attachments\/t_0000000a\/out\.txt$/),
      expect.stringMatching(/\/\.holdfast-run-7-.*\/attachments\/t_0000000b\/out\.txt$/),
    ]);
    // Anybody could have written it into a comment.
    expect(third).toBe(path(stranger));
    expect(rest.join("\n")).toBe(`of ${own}of ${parent}`);
    // The program of this test repeats what a tool is given.
    const params = { name: "kanban_context", arguments: { said: [parent, stranger].map(path) } };
    const tool = await sh("holdfast mcp", {}, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    expect(JSON.parse(tool.stdout).result.given.message.params.arguments.said).toEqual([second, path(stranger)]);
  });

  test("K29 refuses all that is not for a worker, with a clear word", async () => {
    const { sh } = await bridge();
    const words = [
      "exec true",
      "",
      "mcp --profile other",
      "kanban dispatch",
      "kanban unblock t_1",
      "kanban --board x show",
      "kanban show --board other",
      "kanban show -p other",
      "kanban show --profile=other",
      "kanban show -c kanban.database=/x",
      "kanban show --debug",
      "kanban heartbeat --token x",
      "kanban log --follow",
      "kanban create x --workspace dir:/etc",
      "kanban show --json=1",
      "kanban complete --summary",
      "kanban __proto__",
    ];
    const { stderr, stdout } = await sh(words.map((each) => `holdfast ${each}; echo $?`).join("\n"));
    expect(stdout.trim().split("\n").map(Number)).toEqual([2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1]);
    expect(stderr.match(/^error: .*/gm)).toEqual([
      "error: only the verbs of the board work in here: holdfast kanban VERB, and holdfast mcp",
      "error: only the verbs of the board work in here: holdfast kanban VERB, and holdfast mcp",
      "error: mcp takes no arguments in here",
      'error: only the verbs of the board work in here, not "kanban dispatch"',
      'error: only the verbs of the board work in here, not "kanban unblock"',
      'error: only the verbs of the board work in here, not "kanban --board"',
      'error: the board "other" is out of reach here: a worker sees only its own board, default',
      'error: "-p" cannot be given in here: it is not for a worker to say',
      'error: "--profile=other" cannot be given in here: it is not for a worker to say',
      'error: "-c" cannot be given in here: it is not for a worker to say',
      'error: "--debug" cannot be given in here: it is not for a worker to say',
      'error: "--token" cannot be given in here: it is not for a worker to say',
      'error: "--follow" cannot be given in here: it is not for a worker to say',
      'error: a worker in a sandbox cannot choose "dir:/etc" as the workspace of a task',
      "error: --json takes no value",
      "error: --summary needs a value",
      'error: only the verbs of the board work in here, not "kanban __proto__"',
    ]);
    const allowed = await sh(
      "holdfast kanban show --board default -- --debug; holdfast kanban create x --workspace dir:/inside; holdfast kanban block --kind --debug why",
    );
    expect(allowed.stdout).toContain("[kanban][show][--][--debug]\n");
    expect(allowed.stdout).toMatch(/\[--workspace=dir:\/.*\/outside\]/);
    expect(allowed.stdout).toContain("[block][--kind=--debug][--][why]");
  });

  test("K29 hands on messages of MCP one by one, with the files that tools name, and always answers", async () => {
    const { sh, lastWords } = await bridge();
    const call = (id: number, name: string, args: object) =>
      JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: `kanban_${name}`, arguments: args } });
    const messages = [
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      call(1, "comment", { body: "it's \\ so\u2028" }),
      "",
      call(2, "attach", { path: "file" }),
      call(3, "attach", { path: "absent" }),
      call(4, "create", { title: "x", workspace: "dir:/etc" }),
      call(5, "create", { title: "x", workspace: "dir:/inside" }),
      call(6, "complete", { artifacts: ["file"] }),
      call(7, "block", { reason: "why" }),
      call(8, "request_review", {}),
      "garbage",
      "[]",
      "\r",
      call(9, "complete", {}).replace('"id":9', `"id":"${"i".repeat(17 * 1024)}"`),
      call(10, "show", {}),
    ];
    const { stdout, stderr } = await sh("printf content >file; holdfast mcp; echo $?", {}, messages.join("\n"));
    const lines = stdout.trim().split("\n");
    expect(lines.pop()).toBe("0");
    const answers = new Map(lines.map((line) => JSON.parse(line)).map((answer) => [answer.id, answer]));
    // The program of this test says what it was given.
    const given = (id: number) => answers.get(id).result.given;
    expect(given(1)).toEqual({ message: JSON.parse(messages[1] ?? ""), who: "t_0000000a the-token /inside none" });
    expect(given(2).message.params.arguments.path).toBe("/inside/0/file");
    expect(given(5).message.params.arguments.workspace).toMatch(/^dir:.*\/outside$/);
    expect(given(6)).toMatchObject({
      message: { params: { arguments: { artifacts: ["/inside/0/file"] } } },
      who: expect.stringContaining("/inside none"),
    });
    expect(answers.get(3).result).toEqual({
      isError: true,
      content: [{ type: "text", text: expect.stringContaining("error: there is no absent\nhint: ") }],
    });
    expect(answers.get(4).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('cannot choose "dir:/etc"') }],
    });
    expect([...answers.keys()].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 10]);
    // Each announces its last word; a refused one is none, and neither is one whose program has failed.
    expect(answers.get(7).result.isError).toBe(true);
    expect(answers.get(8).result).toEqual({ isError: true, content: [{ type: "text", text: expect.stringContaining("to stderr") }] });
    expect(lastWords).toEqual(["before", "after", "before", "before"]);
    expect(stderr).toContain("error: the message is not JSON");
    expect(stderr).toContain("error: the message is not an object");
    expect(stderr).toContain("error: the message is not carried out: its id");
  });

  test("K29 refuses what is not UTF-8 or too long", async () => {
    const { sh } = await bridge();
    const { stderr } = await sh(`holdfast kanban comment $'\\xff'
      long=$(printf '%0100000d' 0); set --; for each in 1 2 3 4 5 6 7 8 9 10 11; do set -- "$@" "$long"; done; holdfast kanban comment "$@"`);
    expect(stderr.match(/^error: .*/gm)).toEqual([
      "error: the arguments are not all UTF-8",
      "error: the arguments: more than 1048576 bytes, which are the most",
    ]);
  });

  test("K29 serves many at once, also while one takes long, and stops reading when there are too many", async () => {
    const { sh, directory } = await bridge();
    const slow = sh("holdfast kanban log");
    const many = await sh('for each in 1 2 3 4 5 6 7 8 9 10 11 12; do holdfast kanban comment "$each" & done; wait');
    const seen = [...many.stdout.matchAll(/\[comment\]\[--\]\[(\d+)\]/g)].map(([, each]) => Number(each));
    expect(seen.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    await writeFile(join(directory, "go"), "");
    expect((await slow).stdout).toContain("[kanban][log]");
  });

  test("K29 takes no harm from garbage, forged requests and links in its directory", async () => {
    const { sh, bin, said } = await bridge();
    const here = bin.slice(0, -"/bin".length);
    await sh(`cd ${here}
      head -c 100000 /dev/zero 1<>ask; printf '\\n../../etc\\n1.1/../x\\n-1.0\\n99999999999999999999.0\\nready\\n' 1<>ask
      mkdir requests/5.1 requests/6.1 requests/7.1 requests/8.1
      ln -s /etc/passwd requests/5.1/args; mkfifo requests/6.1/args; printf 'no slash\\0kanban\\0show\\0' >requests/7.1/args; printf '/\\0kanban' >requests/8.1/args
      for each in 5 6 7 8 9; do mkfifo "requests/$each.1/done" 2>/dev/null; printf '%s.1\\n' "$each" 1<>ask; done`);
    const waits =
      "for each in 5 6 7 8; do until [ -e requests/$each.1/err ]; do sleep 0.1; done; cat requests/$each.1/err; done; ls requests";
    const { stdout } = await sh(`cd ${here}; ${waits}`);
    expect(stdout.match(/^error: .*/gm)).toEqual([
      "error: the arguments cannot be read: it is a link",
      "error: the arguments cannot be read: it is not a regular file",
      "error: the request is refused: it does not say where it was made",
      "error: the request is refused: its arguments are not whole",
    ]);
    expect((await sh("holdfast kanban show")).stdout).toContain("[kanban][show]");
    expect(said).toEqual([]);
  });

  test("K27 says so when the worker has killed its bridge, whether a verb is under way or comes later", async () => {
    const { sh, bin, said, directory } = await bridge();
    const waiting = sh("holdfast kanban log; echo $?");
    await sh(`until [ -e ${directory}/calls ]; do sleep 0.1; done; read -r relay listener <${bin}/../relay; kill -9 "$listener" "$relay"`);
    expect(await waiting).toMatchObject({
      stdout: "1\n",
      stderr: "error: nobody answers: the supervisor of this run has ended or hangs\n",
    });
    expect(await sh("holdfast kanban show; echo $?")).toMatchObject({
      stdout: "1\n",
      stderr: "error: nobody answers: the supervisor of this run has ended\n",
    });
    expect(said).toEqual([expect.stringContaining("the worker cannot reach the board any more")]);
  });

  test("K27 gives up when there is no sign of life, and leaves nothing behind", async () => {
    const { sh, bin, directory, close } = await bridge({ stepSeconds: 1, steps: 2 });
    const { stdout, stderr } = await sh(`holdfast kanban log; echo $?; ls ${bin}/../requests`);
    expect({ stdout, stderr }).toEqual({ stdout: "1\n", stderr: "error: nobody answers: the supervisor of this run has ended or hangs\n" });
    await writeFile(join(directory, "go"), "");
    await close();
    expect((await sh(`ls -d ${bin}/.. 2>/dev/null`)).stdout).toBe("");
  });
});
