import { expect, test } from "vitest";
import { FROM_CLIENT } from "../../src/sandbox/daemon/types.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type Command, createClient } from "./client.ts";
import { type Ended, FLAG, readEnded, type StartOptions, u32 } from "./frames.ts";
import { alive, childrenOf, eventually } from "./machine.ts";

const SIGTERM = 15;
const SIGKILL = 9;
const NOBODY_ELSE = "54321";

/** Scripts that write the pids of their tree, then "go". */
const TREES = {
  "a plain command": "echo $$ go; exec sleep 1000",
  setsid: "setsid sleep 1000 & echo $$ $! go; wait",
  "a double fork with nohup": "( ( setsid nohup sleep 1000 >/dev/null 2>&1 & echo $! ) & wait ) ; echo $$ go; sleep 1000",
  "an emptied environment": "(env -i setsid sleep 1000 & echo $!); echo $$ go; sleep 1000",
  "a daemon three sessions away":
    "(setsid bash -c '(setsid bash -c \"setsid sleep 1000 & echo \\$! \\$\\$; wait\" &) ; wait'); sleep 0.2; echo $$ go; sleep 1000",
  "a command that ignores TERM": "trap '' TERM INT HUP; echo $$ go; while :; do sleep 1; done",
  "children that ignore TERM": "(trap '' TERM; while :; do sleep 1; done) & echo $$ $! go; wait",
  "a command that stops its keeper": "setsid sleep 1000 & kill -STOP $PPID; echo $! $$ go; wait",
  "a stopped process": "sleep 1000 & kill -STOP $!; echo $! $$ go; wait",
  "a stopped process that ignores TERM": "bash -c 'trap \"\" TERM; kill -STOP $$; sleep 1000' & echo $! $$ go; wait",
} as const;

describeIf("cc", "S33 how holdfastd ends trees of processes", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));

  /** Starts the tree, ends it in that way, and gives what the daemon said; nothing of it may be left. */
  const endTree = async (command: Command, way: "kill" | "timeout" | "leave", options: StartOptions = {}): Promise<Ended | null> => {
    const client = await createClient(daemon);
    const call = await client.start(command, { grace: 300, ...options });
    const pids = [...(await call.until("go\n")).matchAll(/\d+/g)].map(([pid]) => Number(pid));
    expect(pids.length).toBeGreaterThan(0);
    if (way === "kill") call.send(FROM_CLIENT.kill, u32(300));
    if (way === "leave") await client[Symbol.asyncDispose]();
    const end = way === "leave" ? null : readEnded((await call.finish()).last.payload);
    if (way === "leave") await eventually(() => !pids.some(alive), "the tree has ended");
    expect(pids.filter(alive)).toEqual([]);
    await eventually(() => childrenOf(daemon.pid).length === 0, "the keeper has ended");
    await client[Symbol.asyncDispose]();
    return end;
  };

  test.for(Object.entries(TREES))("KILL ends %s", async ([, script]) => {
    expect(await endTree(script, "kill")).toMatchObject({ cause: 2 });
  });

  test.for(Object.entries(TREES))("the end of the connection ends %s", async ([, script]) => {
    expect(await endTree(script, "leave")).toBeNull();
  });

  test("commands that stop their keepers, some before those have told of them, are heard and end", async () => {
    await using client = await createClient(daemon);
    const stopping = ["sh", "-c", "kill -STOP $PPID; echo heard; kill -STOP $PPID"];
    const calls = await Promise.all(Array.from({ length: 200 }, () => client.call(stopping)));
    expect(new Set(calls.map(({ stdout }) => stdout))).toEqual(new Set(["heard\n"]));
  });

  test("a timeout ends the tree, and keeps what was written before", async () => {
    expect(await endTree("trap '' TERM; setsid sleep 1000 & echo $! $$ go; sleep 1000", "timeout", { timeout: 1000 })).toMatchObject({
      cause: 1,
      signal: SIGKILL,
    });
  });

  test("a command that ends on TERM is not killed, one that ignores it is", async () => {
    expect(await endTree(TREES["a plain command"], "kill")).toMatchObject({ signal: SIGTERM });
    expect(await endTree(TREES["a command that ignores TERM"], "kill")).toMatchObject({ signal: SIGKILL });
  });

  test("a fork bomb under a limit of processes is ended whole, and others are answered meanwhile", async () => {
    // At most 63 shells, half of which fork without end; as root under a limit for a user who has no other processes.
    const bomb =
      "trap '' TERM; f() { if [ $1 = 0 ]; then while :; do (:); done; fi; f $(($1 - 1)) & f $(($1 - 1)) & wait; }; f 5 & echo $$ $! go; wait";
    const limited =
      process.getuid?.() === 0
        ? ["setpriv", `--reuid=${NOBODY_ELSE}`, `--regid=${NOBODY_ELSE}`, "--clear-groups", "prlimit", "--nproc=150"]
        : [];
    const ended = endTree([...limited, "bash", "-c", bomb], "timeout", { timeout: 1500 });
    await using other = await createClient(daemon);
    expect((await other.call("echo answered")).stdout).toBe("answered\n");
    expect(await ended).toMatchObject({ cause: 1, signal: SIGKILL });
    const left = await other.call(`pgrep -c -u ${NOBODY_ELSE}`);
    expect(left.stdout).toBe("0\n");
  });

  test("SIGNAL goes to the group of the command and to nothing else", async () => {
    await using client = await createClient(daemon);
    const call = await client.start(
      "trap 'echo got; exit 9' USR1; setsid sh -c 'echo $$ go; exec sleep 1000' & while :; do sleep 0.02; done",
    );
    const [apart] = (await call.until("go\n")).split(" ");
    call.send(FROM_CLIENT.signal, Buffer.from([10]));
    const { last, stdout } = await call.finish();
    expect([readEnded(last.payload), stdout.toString()]).toMatchObject([{ code: 9, cause: 0 }, "got\n"]);
    expect(alive(Number(apart))).toBe(true);
    process.kill(Number(apart), "SIGKILL");
  });

  test("a second KILL can only shorten the grace", async () => {
    await using client = await createClient(daemon);
    const call = await client.start("trap '' TERM; echo go; while :; do sleep 1; done");
    await call.until("go");
    call.send(FROM_CLIENT.kill, u32(3_600_000));
    call.send(FROM_CLIENT.kill, u32(0));
    call.send(FROM_CLIENT.kill, u32(3_600_000));
    expect(readEnded((await call.finish()).last.payload)).toMatchObject({ signal: SIGKILL, cause: 2 });
  });

  test("a command that kills its keeper is killed with it, and the daemon goes on", async () => {
    await using client = await createClient(daemon);
    const call = await client.start("read -r _; kill -9 $PPID; sleep 1000", { flags: FLAG.input });
    call.send(FROM_CLIENT.input, Buffer.from("\n"));
    expect(readEnded((await call.finish()).last.payload)).toMatchObject({ signal: SIGKILL });
    await eventually(() => !alive(call.pid), "the command has ended");
    expect((await client.call("echo on")).stdout).toBe("on\n");
  });

  test("S18 when the daemon itself is killed its keepers end all trees, and the next daemon begins anew", async () => {
    await using place = await temporaryDirectory();
    const first = await startDaemon(place.path);
    const client = await createClient(first);
    const call = await client.start("setsid sleep 1000 & echo $$ $! go; wait");
    const pids = [...(await call.until("go")).matchAll(/\d+/g)].map(([pid]) => Number(pid));
    const { pid } = await client.process("sleep 1000");
    await first.crash();
    await eventually(() => ![...pids, pid].some(alive), "all trees have ended");
    await first.stop();
    await using second = await startDaemon(place.path);
    await using again = await createClient(second);
    expect(await again.processes()).toEqual([]);
  });
});
