from client import *


def tree(command, how, grace=300, **kw):
    """Starts the command, which prints the pids of its tree; ends it; nothing may be left."""
    with Daemon() as d:
        c = d.client(); k = c.start(command, grace=grace, **kw); c.started(k); out = b""
        while not out.endswith(b"go\n"): out += c.expect(k, OUTPUT)[1:]
        pids = [int(x) for x in out.split() if x.isdigit()]; assert pids and all(alive(p) for p in pids), out
        t = time.time()
        if how == "kill": c.send(KILL, k, struct.pack("<I", grace)); e = c.finish(k)[0]; assert e.cause == 2
        elif how == "timeout": e = c.finish(k)[0]; assert e.cause == 1
        else: c.close(); wait_for(lambda: not any(alive(p) for p in pids)); e = None
        took = time.time() - t
        left = [p for p in pids if alive(p)]; assert not left, left
        wait_for(lambda: not d.children())
        with d.client() as c2: assert c2.call("echo x")[1] == b"x\n"
        return e, took


def test_simple(): e, t = tree("echo $$ go; exec sleep 1000", "kill"); assert e.signal == 15 and t < 3
def test_left(): tree("echo $$ go; exec sleep 1000", "left")
def test_setsid(): tree("setsid sleep 1000 & echo $$ $!; sleep 0.1; pgrep -P $$ ; echo go; wait", "kill")
def test_double_fork(): e, t = tree("( ( setsid nohup sleep 1000 >/dev/null 2>&1 & echo $! ) & ) ; sleep 0.2; echo $$ go; sleep 1000", "left")
def test_env_i(): tree("(env -i setsid sleep 1000 & echo $! ); echo $$ go; sleep 1000", "kill")
def test_ignores_term(): e, t = tree("trap '' TERM; echo $$ go; while :; do sleep 1; done", "kill"); assert e.signal == 9 and t < 5
def test_ignores_term_left(): tree("trap '' TERM INT HUP; (trap '' TERM; while :; do sleep 1; done) & echo $$ $! go; wait; while :; do sleep 1; done", "left")
def test_stopped(): e, t = tree("sleep 1000 & kill -STOP $!; echo $! $$ go; wait", "kill", grace=5000); assert t < 4, t
def test_stopped_ignoring(): tree("trap '' TERM; bash -c 'trap \"\" TERM; kill -STOP $$' & echo $! $$ go; while :; do sleep 1; done", "kill")
def test_timeout(): e, t = tree("trap '' TERM; setsid sleep 1000 & echo $! $$ go; sleep 1000", "timeout", timeout=1500)
def test_daemonized(): tree("""python3 -c '
import os,time
for i in range(3):
    if os.fork(): os._exit(0) if i else os.wait()
    else: os.setsid() if i != 1 else None
print(os.getpid(), flush=True); time.sleep(1000)' & sleep 0.5; echo $$ go; sleep 1000""", "kill")


def test_signal_goes_to_the_group():
    with Daemon() as d, d.client() as c:
        k = c.start("trap 'echo got; exit 9' USR1; echo go; while :; do sleep 0.02; done"); c.started(k); c.expect(k, OUTPUT); c.send(SIGNAL, k, bytes([10]))
        e, out, _ = c.finish(k); assert e.code == 9 and b"got" in out and e.cause == 0
        k = c.start("sleep 1000"); c.started(k); c.send(SIGNAL, k, bytes([2])); assert c.finish(k)[0].signal == 2
        k = c.start("sleep 0.3"); c.started(k); c.send(SIGNAL, k, bytes([200])); c.send(SIGNAL, k, bytes([0])); assert c.finish(k)[0].code == 0


def test_second_kill_is_shorter():
    with Daemon() as d, d.client() as c:
        k = c.start("trap '' TERM; echo go; while :; do sleep 1; done"); c.started(k); c.expect(k, OUTPUT)
        c.send(KILL, k, struct.pack("<I", 100000)); time.sleep(0.2); t = time.time(); c.send(KILL, k, struct.pack("<I", 0)); assert c.finish(k)[0].signal == 9 and time.time() - t < 3


def test_call_that_ends_keeps_background():
    with Daemon() as d, d.client() as c:
        out = c.call("(setsid sleep 1000 >/dev/null 2>&1 & echo $!)")[1]; pid = int(out); time.sleep(0.2); assert alive(pid)
        c.close(); time.sleep(0.3); assert alive(pid)
        [k] = d.children(); rss = next(int(l.split()[1]) for l in open(f"/proc/{k}/status") if l.startswith("RssAnon")); assert rss < 200 or "debug" in BINARY, rss
    assert not alive(pid)


def test_daemon_killed():
    d = Daemon(); c = d.client(); k = c.start("setsid sleep 1000 & echo $$ $!; wait"); c.started(k); pids = [int(x) for x in c.expect(k, OUTPUT)[1:].split()]
    id, p = c.process("sleep 1000"); d.proc.kill(); d.proc.wait(); assert c.closed()
    wait_for(lambda: not any(alive(x) for x in pids + [p]))
    d2 = subprocess.Popen(d.argv); wait_for(lambda: os.path.exists(d.path)); time.sleep(0.2)  # a stale socket is replaced
    with d.client() as c: assert c.call("echo x")[1] == b"x\n"
    d2.terminate(); assert d2.wait() == 0; shutil.rmtree(d.dir)


def test_keeper_killed():
    with Daemon() as d, d.client() as c:
        k = c.start("echo go; sleep 1000"); pid, _, _ = c.started(k); c.expect(k, OUTPUT); [keeper] = d.children(); os.kill(keeper, 9)
        e = c.finish(k)[0]; assert e.signal == 9; wait_for(lambda: not alive(pid)); assert c.call("echo x")[1] == b"x\n"


def test_fork_bomb():
    """Under a limit on processes of an otherwise unused user."""
    import resource
    def drop(): os.setgid(54321); os.setuid(54321); resource.setrlimit(resource.RLIMIT_NPROC, (400, 400))
    base = tempfile.mkdtemp(); os.chmod(base, 0o777); tempfile.tempdir = base
    shutil.copy(BINARY, base + "/holdfastd"); os.chmod(base + "/holdfastd", 0o755)
    try:
        d = Daemon.__new__(Daemon); d.dir = tempfile.mkdtemp(); os.chown(d.dir, 54321, 54321); d.path, d.state, d.secret_file, d.log = d.dir + "/run/s", d.dir + "/state", d.dir + "/secret", d.dir + "/err"
        d.secret = os.urandom(32); open(d.secret_file, "w").write(d.secret.hex()); os.chmod(d.secret_file, 0o644)
        d.proc = subprocess.Popen([base + "/holdfastd", "serve", "--socket", d.path, "--state", d.state, "--secret-file", d.secret_file], preexec_fn=drop, stderr=open(d.log, "w")); d.pid = d.proc.pid
        wait_for(lambda: os.path.exists(d.path)); time.sleep(0.2)
        with d.client() as c:
            mine = lambda: [p for p in os.listdir("/proc") if p.isdigit() and (lambda s: s and s.st_uid == 54321)(os.stat("/proc/" + p) if os.path.exists("/proc/" + p) else None) and alive(p)]
            k = c.start("f() { f | f & }; f; sleep 1000", grace=200); c.started(k); time.sleep(2); n = len(mine()); assert n > 100, n
            t = time.time(); c.status(); asked = time.time() - t
            t = time.time(); c.send(KILL, k, struct.pack("<I", 200)); e = c.finish(k)[0]; took = time.time() - t
            print(f"     {n} processes, status answered in {asked * 1000:.0f} ms, killed in {took:.2f} s")
            wait_for(lambda: len(mine()) <= 1, 2); assert c.call("echo x")[1] == b"x\n"
    finally: d.stop(check=False); tempfile.tempdir = None; shutil.rmtree(base, ignore_errors=True)
