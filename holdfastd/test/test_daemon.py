from client import *

RUN = lambda *a, **k: subprocess.run([BINARY, *a], capture_output=True, text=True, **k)


def test_verbs():
    r = RUN("version"); assert (r.returncode, r.stdout) == (0, "holdfastd 1 (protocol 1)\n")
    for a in [(), ("nonsense",), ("serve",), ("serve", "--socket"), ("serve", "--socket", "x", "--state", "y", "--secret-file", "z", "--idle-stop", "abc"), ("relay",), ("version", "x"), ("relay", "--socket", "x", "--state", "y")]:
        r = RUN(*a); assert r.returncode == 2 and r.stderr.startswith("usage:") and not r.stdout, (a, r)
    r = RUN("relay", "--socket", "/nonexistent/s"); assert r.returncode == 4 and "/nonexistent/s" in r.stderr


def test_second_start():
    with Daemon() as d:
        r = subprocess.run(d.argv, capture_output=True, text=True); assert r.returncode == 3 and r.stderr == f"holdfastd: already running on {d.path} (pid {d.pid})\n", r
        r = subprocess.run(d.argv + ["--background"], capture_output=True, text=True); assert r.returncode == 3 and "already running" in r.stderr
        with d.client() as c: assert c.pid == d.pid and c.call("echo x")[1] == b"x\n"
        st = os.lstat(d.path); assert st.st_mode & 0o077 == 0 and os.stat(os.path.dirname(d.path)).st_mode & 0o777 == 0o700
    assert not os.path.exists(d.path)


def test_bad_starts():
    with tempfile.TemporaryDirectory() as t:
        def go(secret, *extra, path=t + "/s"):
            open(t + "/k", "w").write(secret); r = RUN("serve", "--socket", path, "--state", t + "/st", "--secret-file", t + "/k", *extra); assert r.returncode == 1 and r.stderr.startswith("holdfastd: ") and r.stderr.count("\n") == 1, r
        for extra in ((), ("--background",)):
            go("", *extra); go("a" * 63, *extra); go("g" * 64, *extra); go("0" * 64, *extra, path=t + "/x" * 60); go("0" * 64, *extra, path=t + "/no/such/s"); go("0" * 64, *extra, path="/proc/s")
        os.mkdir(t + "/isdir"); go("0" * 64, path=t + "/isdir"); assert RUN("serve", "--socket", t + "/s", "--state", t, "--secret-file", t + "/none").returncode == 1
        os.symlink("/etc/passwd", t + "/l.lock"); go("0" * 64, path=t + "/l")


def test_background():
    d = Daemon(); d.stop(); os.makedirs(d.dir); open(d.secret_file, "w").write(d.secret.hex())
    t = time.time(); r = subprocess.run(d.argv + ["--background"], capture_output=True, text=True); assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    with d.client() as c:
        pid = c.pid; assert c.call("echo x")[1] == b"x\n"; assert os.getsid(pid) == pid and {os.readlink(f"/proc/{pid}/fd/{i}") for i in range(3)} == {"/dev/null"}
        os.kill(pid, 15); assert c.closed()
    wait_for(lambda: not alive(pid)); assert not os.path.exists(d.path); shutil.rmtree(d.dir)


def test_closes_inherited():
    r, w = os.pipe(); os.set_inheritable(w, True); d = Daemon.__new__(Daemon)
    with tempfile.TemporaryDirectory() as t:
        open(t + "/k", "w").write("0" * 64); p = subprocess.Popen([BINARY, "serve", "--socket", t + "/s", "--state", t + "/st", "--secret-file", t + "/k"], pass_fds=[w]); os.close(w)
        assert os.read(r, 1) == b""; wait_for(lambda: os.path.exists(t + "/s")); time.sleep(0.2); p.terminate(); assert p.wait() == 0


def test_term_ends_trees():
    for sig in (signal.SIGTERM, signal.SIGINT):
        d = Daemon(); c = d.client(); k = c.start("trap '' TERM; setsid sleep 1000 & echo $$ $!; while :; do sleep 1; done"); c.started(k); pids = [int(x) for x in c.expect(k, OUTPUT)[1:].split()]
        _, p = c.process("sleep 1000"); t = time.time(); d.proc.send_signal(sig); e = c.finish(k)[0]; assert e.cause == 2 and e.signal == 9; assert d.proc.wait(10) == 0 and 1.5 < time.time() - t < 5
        assert not any(alive(x) for x in pids + [p]) and not os.path.exists(d.path); shutil.rmtree(d.dir)


def test_stop_frame():
    d = Daemon(); c = d.client(); k = c.start("trap '' TERM; echo go; while :; do sleep 1; done"); c.started(k); c.expect(k, OUTPUT); q = c.request(0x42, struct.pack("<I", 100)); c.expect(q, DONE)
    try: c.call("true"); assert False
    except Failed as f: assert f.errno == 108
    assert c.finish(k)[0].signal == 9 and c.closed(); assert d.proc.wait(5) == 0; shutil.rmtree(d.dir)


def test_status():
    with Daemon("--idle-stop", "1000") as d, d.client(label="me") as c:
        st = c.status(); assert (st["idle_stop"], st["leases"], st["calls"], st["last"]) == (1000, 1, 0, "") and st["labels"][0][0] == "me"
        time.sleep(0.05); assert c.status()["idle"] >= 50  # only asking is not use
        with d.client(label="x" * 256) as o: assert c.status()["idle"] == 0 and c.status()["leases"] == 2
        k = c.start("sleep 100"); c.started(k); c.process("sleep 100"); st = c.status(); assert (st["calls"], st["processes"], st["idle"], st["last"]) == (1, 1, 0, "process shown (me)"), st
        c.simple(0x41, struct.pack("<I", 5)); assert c.status()["idle_stop"] == 5
    with Daemon() as d:
        with d.client() as c: c.handshake  # noqa
        try: Client(d, label="x" * 257); assert False
        except Closed: pass


def test_idle_stop():
    d = Daemon("--idle-stop", "1"); t = time.time(); w = d.client(); ticks = 0
    try:
        while True: w.status(); ticks += 1; time.sleep(0.02)  # asking all the time keeps nothing awake
    except (Closed, BrokenPipeError, ConnectionResetError): pass
    assert d.proc.wait(5) == 0 and 0.9 < time.time() - t < 3 and ticks > 5; shutil.rmtree(d.dir)
    d = Daemon("--idle-stop", "1"); c = d.client(); time.sleep(1.5); assert d.proc.poll() is None  # a lease is use
    id, _ = c.process("sleep 2.5"); c.close(); time.sleep(2); assert d.proc.poll() is None; t = time.time(); assert d.proc.wait(10) == 0; assert time.time() - t < 4; shutil.rmtree(d.dir)
    d = Daemon("--idle-stop", "1")
    for _ in range(4):
        time.sleep(0.4)
        with d.client(): pass
        assert d.proc.poll() is None
    d.proc.wait(5); shutil.rmtree(d.dir)


def test_clock():
    """A day in a moment: only with the debug build, whose clock tests can move."""
    if "debug" not in BINARY: return
    clock = tempfile.mktemp(); open(clock, "w").write("0"); d = Daemon("--idle-stop", "90000", env={**os.environ, "HOLDFASTD_CLOCK": clock}); c = d.client()
    try:
        k = c.start("sleep 1000", timeout=86400_000); c.started(k); open(clock, "w").write("86300000"); c.status(); time.sleep(0.2); assert c.status()["calls"] == 1
        open(clock, "w").write("86401000"); c.status(); assert c.finish(k)[0].cause == 1
        assert c.status()["uptime"] > 86400000; open(clock, "w").write(str(86401000 + 90001000)); c.close()
        s2 = socket.socket(socket.AF_UNIX); s2.connect(d.path); s2.close(); time.sleep(0.2); assert d.proc.poll() is None  # closing was use
        open(clock, "w").write(str(86401000 + 2 * 90002000)); s2 = socket.socket(socket.AF_UNIX); s2.connect(d.path); assert d.proc.wait(10) == 0
    finally: d.stop(check=False); os.unlink(clock)


def test_relay():
    with Daemon() as d:
        a, b = socket.socketpair(); p = subprocess.Popen([BINARY, "relay", "--socket", d.path], stdin=b, stdout=b); b.close()
        c = Client(d, sock=a); data = os.urandom(2_000_000); assert c.call("cat", input=data)[1] == data; k = c.start("sleep 1000"); pid, _, _ = c.started(k); c.close(); assert p.wait(10) == 0; wait_for(lambda: not alive(pid))
        p = subprocess.Popen([BINARY, "relay", "--socket", d.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE); p.stdin.write(b"garbage!" * 10); p.stdin.flush(); assert p.stdout.read() == b"" and p.wait(10) == 0
        p = subprocess.Popen([BINARY, "relay", "--socket", d.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE); p.stdin.close(); assert p.wait(10) == 0
        a, b = socket.socketpair(); p = subprocess.Popen([BINARY, "relay", "--socket", d.path], stdin=b, stdout=b); b.close(); c = Client(d, sock=a)
        k = c.start("yes"); time.sleep(0.5); c.close(); assert p.wait(10) == 0
        a, b = socket.socketpair(); p = subprocess.Popen([BINARY, "relay", "--socket", d.path], stdin=b, stdout=b); b.close(); c = Client(d, sock=a); k = c.start("sleep 1000"); pid, _, _ = c.started(k); p.kill(); p.wait(); wait_for(lambda: not alive(pid)); wait_for(lambda: not [x for x in os.listdir("/proc") if x.isdigit() and alive(x) and open(f"/proc/{x}/cmdline").read().startswith(BINARY + "\0relay\0--socket\0" + d.path)], 5)


def test_as_pid_1():
    with tempfile.TemporaryDirectory() as t:
        open(t + "/k", "w").write("1" * 64); d = Daemon.__new__(Daemon); d.secret, d.path = bytes.fromhex("1" * 64), t + "/run/s"
        p = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", BINARY, "serve", "--socket", d.path, "--state", t + "/st", "--secret-file", t + "/k"]); wait_for(lambda: os.path.exists(d.path)); time.sleep(0.2)
        with d.client() as c:
            assert c.pid == 1; assert c.call("echo $PPID")[0].code == 0; [inner] = children(p.pid)
            for _ in range(5): subprocess.run(["nsenter", "-t", str(inner), "-p", "-m", "sh", "-c", "(sleep 0.1 &) ; (setsid sleep 0.05 &)"])
            time.sleep(0.5); out = c.call("ps -eo stat,cmd")[1]; assert b"Z" not in out.split(), out
            k = c.start("trap '' TERM; echo go; sleep 1000"); c.started(k); c.expect(k, OUTPUT); c.send(KILL, k, bytes(4)); assert c.finish(k)[0].signal == 9
        os.kill(inner, 15); assert p.wait(10) == 0
