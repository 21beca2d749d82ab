import { mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findSandbox } from "../../src/app/sandbox-of-task.ts";
import { removeTaskSandbox } from "../../src/app/sandbox-worker.ts";
import { writeTaskSettings } from "../../src/app/task-settings.ts";
import { boardFiles } from "../../src/board/files.ts";
import { describeEngines } from "../docker/engine-bench.ts";
import { cutPostgres } from "../helpers/cut-postgres.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { LONG, sandboxBench } from "./sandbox-bench.ts";

describeEngines("a worker in a container", (engine) => {
  test(
    "K4 K28 K29 reads its task, comments, makes a child, attaches and completes, with no program and no database there",
    async () => {
      const bench = await sandboxBench(engine());
      const script = `
        set -e
        holdfast kanban context >context.txt
        grep -q 'Workspace: scratch in /workspace' context.txt
        cat "$(grep -o '/[^ ]*/attachments/[^ ]*/before.txt' context.txt)"
        child=$(holdfast kanban create 'a child' --assignee default)
        printf report | holdfast kanban comment -
        printf report >out.txt
        mkdir sub && cd sub
        holdfast kanban attach ../out.txt
        cat "$(holdfast kanban attachments --json | grep -o '/[^"]*/attachments/[^"]*')"
        echo " in $HOLDFAST_WORKSPACE as $HOLDFAST_TASK of $HOLDFAST_BOARD, \${HOLDFAST_HOME-no home}"
        holdfast kanban complete --summary "all done" --metadata '{"files": 1}' --artifact ../context.txt --created "$child"`;
      const { task: parent } = await bench.store.createTask({ title: "before" }, { by: "test" });
      const path = join(boardFiles(bench.home).attachments("default", parent.id), "before.txt");
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, "of the task before\n");
      await bench.store.addAttachment(parent.id, { name: "before.txt", path, contentType: "text/plain", size: 19 }, { by: "test" });
      await bench.store.complete(parent.id, {}, { by: "test" });
      const claim = await bench.start(script, { task: { title: "the title", parents: [parent.id] } });
      const { id } = claim.task;
      await bench.over(claim);
      expect(await bench.log(claim)).toContain("of the task before\n");
      expect(await bench.log(claim)).toContain(`report in /workspace as ${id} of default, no home\n`);
      expect(await bench.store.getTask(id)).toMatchObject({ status: "done" });
      expect(await bench.run(claim)).toMatchObject({ outcome: "completed", summary: "all done", metadata: { files: 1 } });
      expect((await bench.store.comments(id)).map(({ body, author, run }) => [author, body, run])).toEqual([
        ["default", "report", claim.run.id],
      ]);
      const attachments = await bench.store.attachments(id);
      expect(attachments.map(({ name }) => name)).toEqual(["out.txt", "context.txt"]);
      expect(await readFile(attachments[0]?.path ?? "", "utf8")).toBe("report");
      expect(await readFile(attachments[1]?.path ?? "", "utf8")).toContain("- Title: the title");
      expect(await readFile(join(await bench.workspace(id), "out.txt"), "utf8")).toBe("report");
      // It stays for a retry, until somebody says that the task is finished.
      expect(await findSandbox(bench.app, id)).not.toBeNull();
      expect(await removeTaskSandbox(bench.app, id, "default")).toBe(true);
      expect(await findSandbox(bench.app, id)).toBeNull();
      expect(await removeTaskSandbox(bench.app, id, "default")).toBe(false);
    },
    LONG,
  );

  test(
    "K29 K30 does its work with the tools of MCP, with no program and no database there",
    async () => {
      const bench = await sandboxBench(engine());
      const call = (id: number, name: string, args: object) =>
        JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: `kanban_${name}`, arguments: args } });
      const messages = [
        '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        call(2, "context", {}),
        call(3, "attach", { path: "out.txt" }),
        call(4, "show", {}),
        call(5, "list", {}),
        call(6, "complete", { summary: "all done", artifacts: ["/tmp/elsewhere.txt"] }),
      ];
      const script = `
        printf report >out.txt; printf more >/tmp/elsewhere.txt
        cat >messages <<'END'
${messages.join("\n")}
END
        holdfast mcp <messages >answers || exit
        cat "$(grep -o '/[^" ]*/attachments/[^" \\]*' answers | head -n 1)"`;
      const claim = await bench.start(script, { task: { title: "the title" } });
      const { id } = claim.task;
      await bench.over(claim);
      expect(await bench.log(claim)).toContain("\nreport");
      const lines = (await readFile(join(await bench.workspace(id), "answers"), "utf8")).trim().split("\n");
      const answers = lines.map((line) => JSON.parse(line));
      expect(answers.map((answer) => answer.id)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      expect(answers[1].result.tools).toHaveLength(11);
      expect(answers[2].result.content[0].text).toContain("Workspace: scratch in /workspace");
      expect(answers[5].error.message).toContain("kanban_list");
      expect(await bench.run(claim)).toMatchObject({ outcome: "completed", summary: "all done" });
      const attachments = await bench.store.attachments(id);
      expect(attachments.map(({ name }) => name)).toEqual(["out.txt", "elsewhere.txt"]);
      expect(await readFile(attachments[1]?.path ?? "", "utf8")).toBe("more");
    },
    LONG,
  );

  test(
    "K29 attaches no more than it may, is told so, and can still end its run",
    async () => {
      const bench = await sandboxBench(engine());
      await writeFile(join(bench.home, "config.yaml"), "kanban: { attach_max_files: 2, attach_max_bytes: 10 }\n");
      const claim = await bench.start(`
        printf 12345 >a; printf 123456 >b; printf 1 >c
        holdfast kanban attach a
        holdfast kanban attach b; echo "status $?"
        holdfast kanban attach c
        holdfast kanban complete --artifact c || holdfast kanban complete --summary done`);
      await bench.over(claim);
      const log = await bench.log(claim);
      expect(log).toContain("with it its workers would have attached 11 bytes, and 10 are the most\nhint: ");
      expect(log).toContain("status 1\n");
      expect(log).toContain("its workers have attached 2 files already, and 2 are the most");
      expect(await bench.run(claim)).toMatchObject({ outcome: "completed", summary: "done" });
      const attachments = await bench.store.attachments(claim.task.id);
      expect(attachments.map(({ name }) => name)).toEqual(["a", "c"]);
      expect(await readdir(dirname(attachments[0]?.path ?? ""))).toEqual(["a", "c"]);
    },
    LONG,
  );

  test(
    "K4 K28 K29 hands nothing on to a worker on the host, by the command line and by the tools, unless that accepts it",
    async () => {
      const bench = await sandboxBench(engine());
      for (const [name, more] of Object.entries({ host: "", open: "  accepts_from_sandboxes: true\n", lane: "  command: []\n" })) {
        await mkdir(join(bench.home, "profiles", name), { recursive: true });
        const command = name === "lane" ? "" : "  command: [git, status]\n";
        await writeFile(join(bench.home, "profiles", name, "config.yaml"), `worker:\n  sandbox: none\n${command}${more}`);
      }
      await mkdir(join(bench.home, "profiles", "boxed"), { recursive: true });
      await writeFile(join(bench.home, "profiles", "boxed", "config.yaml"), "worker:\n  command: [git, status]\n");
      const { task: theirs } = await bench.store.createTask({ title: "of a person", assignee: "host" }, { by: "test" });
      const call = (id: number, name: string, args: object) =>
        JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: `kanban_${name}`, arguments: args } });
      const script = `
        git init -q . 2>/dev/null; own=$HOLDFAST_TASK
        holdfast kanban create bad --workspace dir:/workspace --assignee host && exit 3
        holdfast kanban request-review --reviewer HOST && exit 4
        holdfast kanban link "$own" ${theirs.id} && exit 5
        cat >messages <<END
${call(1, "create", { title: "bad", workspace: "dir:/workspace", assignee: "host" })}
${call(2, "request_review", { reviewer: "host" })}
${call(3, "link", { parent: "OWN", child: theirs.id }).replace("OWN", "$own")}
END
        holdfast mcp <messages >answers
        set -e
        for to in boxed open lane; do holdfast kanban create "for $to" --workspace dir:/workspace --assignee $to; done
        holdfast kanban create "for nobody"
        holdfast kanban request-review --reviewer boxed --summary seen`;
      const claim = await bench.start(script, { task: { title: "the title" } });
      await bench.over(claim);
      const log = await bench.log(claim);
      for (const what of ["a task", "a review", "a link to a task"])
        expect(log).toContain(`${what} for host is refused: its workers run on the host, and this one is in a sandbox`);
      expect(log).toContain("people can let host have it with worker.accepts_from_sandboxes");
      const answers = (await readFile(join(await bench.workspace(claim.task.id), "answers"), "utf8")).trim().split("\n");
      expect(answers).toHaveLength(3);
      for (const answer of answers) {
        expect(JSON.parse(answer).result).toMatchObject({ isError: true });
        expect(answer).toContain("for host is refused");
      }
      expect(await bench.run(claim)).toMatchObject({ outcome: "review_requested", summary: "seen", worker: { isolated: true } });
      const made = (await bench.store.listTasks()).filter(({ title }) => title.startsWith("for "));
      expect(made.map(({ assignee, fromSandbox }) => [assignee, fromSandbox])).toEqual([
        ["boxed", true],
        ["open", true],
        ["lane", true],
        [null, true],
      ]);
      expect(await bench.store.getTask(theirs.id)).toMatchObject({ fromSandbox: false, status: "ready" });
      expect(await bench.store.parents(theirs.id)).toEqual([]);
      // For the dispatcher: where the container could write.
      const path = await realpath(await bench.workspace(claim.task.id));
      expect(await bench.store.sandboxPlace({ among: [path], around: "/nowhere" })).toEqual({ path, task: claim.task.id });
    },
    LONG,
  );

  test(
    "K4 K29 a reviewer in a container does not give it back to a worker on the host, and says so instead of going on",
    async () => {
      const bench = await sandboxBench(engine());
      await mkdir(join(bench.home, "profiles", "host"), { recursive: true });
      await writeFile(join(bench.home, "profiles", "host", "config.yaml"), "worker:\n  sandbox: none\n  command: [git, status]\n");
      const { task } = await bench.store.createTask({ title: "work", assignee: "host" }, { by: "test" });
      const { token } = await bench.store.claim(task.id, { by: "test" });
      await bench.store.requestReview(task.id, { reviewer: "default" }, { token });
      const claim = await bench.start("holdfast kanban request-changes again || holdfast kanban block told --kind needs_input", {
        again: task.id,
      });
      await bench.over(claim);
      expect(await bench.log(claim)).toContain("a change for host is refused");
      expect(await bench.store.getTask(task.id)).toMatchObject({ status: "blocked", fromSandbox: true });
    },
    LONG,
  );

  test(
    "K4 K29 is not started on the host when its task comes from a sandbox, whatever the settings of the task say",
    async () => {
      const bench = await sandboxBench(engine());
      const author = await bench.start("holdfast kanban create child --assignee default && holdfast kanban complete");
      await bench.over(author);
      const [child] = (await bench.store.listTasks()).filter(({ title }) => title === "child");
      const id = child?.id ?? "";
      await writeTaskSettings(bench.home, { task: id, settings: { "terminal.backend": "local" } });
      await expect(bench.start("touch ran", { again: id })).rejects.toMatchObject({
        code: "move-refused",
        message: expect.stringContaining("would run on the host"),
      });
    },
    LONG,
  );

  test(
    "K4 K29 is not started anywhere else than was written down, also when the configuration changes meanwhile",
    async () => {
      const bench = await sandboxBench(engine());
      const { recordWorker } = bench.store;
      bench.store.recordWorker = async (id, ...rest) => {
        await writeTaskSettings(bench.home, { task: id, settings: { "terminal.backend": "local" } });
        await recordWorker(id, ...rest);
      };
      const claim = await bench.start("touch ran");
      expect(await bench.exit(claim)).toMatchObject({
        reason: "start_failed",
        error: expect.stringContaining("changed while its worker was started: the backend that it has now shares the host's files"),
      });
      expect(await readdir(await bench.workspace(claim.task.id))).toEqual([]);
    },
    LONG,
  );

  test(
    "K17 K29 says its last word once although the database is away, and although its answer is lost",
    async () => {
      const server = await testPostgres();
      onTestFinished(() => server[Symbol.asyncDispose]());
      const url = await server.createDatabase();
      const place = await temporaryDirectory();
      onTestFinished(() => place[Symbol.asyncDispose]());
      const way = await cutPostgres(url, place.path);
      onTestFinished(() => way[Symbol.asyncDispose]());
      const bench = await sandboxBench(engine(), {}, { here: url, there: way.url });
      const claim = await bench.start(`
        echo ready; until [ -e go ]; do sleep 0.1; done
        holdfast kanban complete --summary done --artifact go; echo "status $?"`);
      await bench.untilLogged(claim, "ready");
      way.cut();
      await writeFile(join(await bench.workspace(claim.task.id), "go"), "");
      // Its supervisor asks each few seconds at most.
      await way.refused.until(() => way.refused.rings >= 8);
      way.swallowCommit();
      way.mend();
      await bench.over(claim);
      expect(await bench.log(claim)).toMatch(/trying again for up to 60 s[\s\S]*status 0\n/);
      expect(way.swallowed.rings).toBe(1);
      expect(await bench.store.runs({ task: claim.task.id })).toMatchObject([{ id: claim.run.id, outcome: "completed", summary: "done" }]);
      expect(await bench.store.attachments(claim.task.id)).toHaveLength(1);
      const kinds = (await bench.store.events({ task: claim.task.id })).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === "completed" || kind === "attached")).toEqual(["attached", "completed"]);
    },
    LONG,
  );

  test(
    "K4 K20 K27 finds its sandbox again in the next run, gets a new one for another workspace, and never works in the wrong one",
    async () => {
      const bench = await sandboxBench(engine());
      const script = "cat file /var/mark; echo kept >file; echo mark >/var/mark; readlink /proc/self/cwd";
      const first = await bench.start(script);
      const { id } = first.task;
      expect(await bench.exit(first)).toMatchObject({ code: 0, signal: null, reason: "exited" });
      await bench.over(first);
      await bench.release(first);
      const second = await bench.start(script, { again: id });
      await bench.exit(second);
      expect(await bench.log(second)).toMatch(/kept\nmark\n\/workspace\n$/);
      await bench.over(second);
      await bench.release(second);

      const other = join(bench.home, "other");
      await mkdir(other);
      await writeFile(join(other, "file"), "of another\n");
      const third = await bench.start(script, { again: id, workspace: other });
      await bench.exit(third);
      expect(await bench.log(third)).toMatch(/of another\n.*\/var\/mark.*\n\/workspace\n$/);
      await bench.over(third);
      await bench.release(third);

      const { sandbox } = await (await bench.app.forTask(id)).lifecycle().then(async (lifecycle) => {
        const own = await bench.app.forTask(id);
        return lifecycle.acquire(await own.owner(id), await own.spec());
      });
      await sandbox.processes.start("sleep 600");
      const fourth = await bench.start(script, { again: id });
      expect(await bench.exit(fourth)).toMatchObject({
        reason: "start_failed",
        error: expect.stringMatching(/has another workspace than .*it is in use/),
      });
    },
    LONG,
  );

  test(
    "K4 K27 K31 in the sandbox that its profile shares, two work at once, each in its own copy of its workspace",
    async () => {
      const bench = await sandboxBench(engine());
      const script = `
        read -r word <given
        echo "$word" >made
        echo "sees $HOLDFAST_IMAGES"
        : >"/tmp/$word"
        until [ -e /tmp/one ] && [ -e /tmp/two ]; do sleep 0.1; done
        pwd
        [ "$word" = two ] || holdfast kanban block "$word" --kind needs_input`;
      const workspaces = await Promise.all(
        ["one", "two"].map(async (word) => {
          const path = join(bench.home, word);
          await mkdir(path);
          await writeFile(join(path, "given"), word);
          return path;
        }),
      );
      const claims = [];
      for (const workspace of workspaces)
        claims.push(await bench.start(script, { sandbox: "profile", workspace, images: [join(workspace, "given")] }));
      for (const claim of claims) await bench.over(claim);
      for (const [index, claim] of claims.entries()) {
        expect(await bench.log(claim)).toContain(`sees ["/workspace/${claim.task.id}/given"]\n/workspace/${claim.task.id}\n`);
        expect(await readFile(join(workspaces[index] ?? "", "made"), "utf8")).toBe(index === 0 ? "one\n" : "two\n");
      }
      const [one, two] = await Promise.all(claims.map((claim) => bench.run(claim)));
      expect(one).toMatchObject({ outcome: "blocked", error: null });
      // It said nothing: what that means is for the dispatcher to say.
      expect(two).toMatchObject({ outcome: null, worker: { exit: { code: 0, reason: "exited" } } });
    },
    LONG,
  );

  test(
    "K2 K28 K29 of a board in PostgreSQL finds its password nowhere, also while nobody can connect",
    async () => {
      const server = await testPostgres();
      // After the bench, which is made later.
      onTestFinished(() => server[Symbol.asyncDispose]());
      const url = await server.createDatabase();
      const marked = `${url.replace("@", ":a%2Fcorrect-horse%40@")}&sslpassword=correct-horse`;
      const bench = await sandboxBench(engine(), {}, { here: marked, there: marked });
      const admit = (yes: boolean) =>
        server.run(`alter database ${new URL(url.replace("@/", "@x/")).pathname.slice(1)} allow_connections ${yes}`);
      // The text of the script is in the container, too.
      const script = `
        holdfast kanban show
        echo "so far"
        until [ -e go ]; do sleep 0.05; done
        holdfast kanban show
        holdfast mcp <<'END'
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kanban_show","arguments":{}}}
END
        cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'
        echo "in $(grep -rls 'correct-''horse' / --exclude-dir=proc --exclude-dir=sys | wc -l) files"`;
      const claim = await bench.start(script);
      const { id } = claim.task;
      await bench.untilLogged(claim, "so far\n");
      await admit(false);
      await writeFile(join(await bench.workspace(id), "go"), "");
      const log = await bench.untilLogged(claim, " files\n");
      await admit(true);
      expect(log).toContain(`id: ${id}\n`);
      expect(log).toMatch(/error: the board in postgres:\/\/holdfast:\*\*\*@.*sslpassword=\*\*\* cannot be used/);
      expect(log).toContain(`HOLDFAST_TASK=${id}\n`);
      expect(log).toContain("in 0 files\n");
      expect(log).not.toContain("correct-horse");
      await bench.over(claim);
      expect(await readFile(join(bench.home, "kanban/supervisors.log"), "utf8")).not.toContain("correct-horse");
    },
    LONG + POSTGRES_LIMIT_MS,
  );
});
