from client import *
import json


def test_output_and_codes():
    with Daemon() as d, d.client() as c:
        e, out, err = c.call("echo hi; echo err >&2; exit 3")
        assert (e.code, e.signal, e.cause, e.saved, out, err) == (3, 0, 0, 0, b"hi\n", b"err\n")
        e, out, err = c.call("kill -9 $$"); assert (e.code, e.signal, e.cause) == (0, 9, 0)
        e, out, err = c.call("echo a; echo b >&2", flags=2); assert (out, err) == (b"a\nb\n", b"")
        e, out, err = c.call(["/bin/cat"]); assert out == b"" and e.code == 0  # end of file at once
        assert c.call(["bash", "-c", 'printf "%s|" "$@"', "x", "a b", "", "\xff"])[1] == "a b||\xff|".encode()
        assert c.call("pwd", cwd="/usr")[1] == b"/usr\n" and c.call("pwd")[1] == b"/\n"
        assert c.call(["env"], env={"A": "1", "B": "x=y"})[1] == b"A=1\nB=x=y\n"
        assert c.call(["/usr/bin/env"], env={})[1] == b""


def test_start_failures():
    with Daemon() as d, d.client() as c:
        for argv, kw, errno, text in [(["nonexistent"], {}, 2, "nonexistent"), ("true", dict(cwd="/nonexistent"), 2, "/nonexistent"), (["/etc/passwd"], {}, 13, "/etc/passwd"),
                                      (["/tmp"], {}, 13, "/tmp"), ([""], {}, 2, "cannot run"), (["true"], dict(env={"PATH": "/nowhere"}), 2, "true")]:
            try: c.call(argv, **kw); assert False, argv
            except Failed as f: assert f.errno == errno and text in f.message, (argv, f)
        assert wait_for(lambda: not d.children())


def test_environment_of_commands():
    def change(): os.umask(0o027); signal.signal(signal.SIGPIPE, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Daemon(preexec=change) as d, d.client() as c:
        out = c.call("umask; ulimit -n; ls /proc/self/fd; grep Sig /proc/self/status; ps -o pid=,pgid=,sid= $$; echo $$")[1].decode().split("\n")
        assert out[0] == "0027" and out[1] == str(os.popen("ulimit -n").read().strip()), out
        assert out[2:6] == ["0", "1", "2", "3"], out  # 3 is the directory that ls reads
        sig = {l.split()[0]: l.split()[1] for l in out if l.startswith("Sig")}
        assert sig["SigBlk:"] == sig["SigIgn:"] == "0" * 16, sig
        assert set(out[-3].split()) == {out[-2]}, out
        out = c.call("ls -l /proc/$$/fd | sed 's/.* //' | sort -u", state=d.dir + "/st")[1]
    with Daemon() as d, d.client() as c: assert c.call("umask")[1].strip() == b"0022"


def test_path_lookup():
    with Daemon(env={"PATH": "/usr/bin:/bin"}) as d, d.client() as c:
        assert c.call(["true"], env={})[0].code == 0
        os.mkdir(d.dir + "/bin"); open(d.dir + "/bin/tool", "w").write("#!/bin/sh\necho tool"); os.chmod(d.dir + "/bin/tool", 0o755)
        assert c.call(["tool"], env={"PATH": "/nope:" + d.dir + "/bin"})[1] == b"tool\n"


def test_input():
    with Daemon() as d, d.client() as c:
        data = os.urandom(3_000_000)
        e, out, _ = c.call(["cat"], input=data); assert out == data and e.code == 0
        e, out, _ = c.call("head -c 5", input=data); assert out == data[:5]  # the rest is dropped
        e, out, _ = c.call("exec 0<&-; sleep 0.2; echo done", input=data); assert out == b"done\n"
        k = c.start("sleep 100"); c.started(k); c.send(INPUT, k, b"x"); assert c.closed()  # nothing was granted


def test_no_early_output_and_order():
    with Daemon() as d, d.client() as c:
        for _ in range(50):
            k = c.start("echo x"); assert c.on(k)[0] == STARTED; assert c.finish(k)[1] == b"x\n"


def test_background_holder_does_not_hold():
    with Daemon() as d, d.client() as c:
        t = time.time(); e, out, _ = c.call("sleep 3600 & echo $!; exit 4"); assert time.time() - t < 5 and e.code == 4
        pid = int(out); assert alive(pid)  # and it stays
        e, out, _ = c.call("(while :; do echo x; sleep 0.01; done) & echo $!"); writer = int(out.replace(b"x\n", b""))
        time.sleep(0.5); assert alive(writer)  # not killed by a broken pipe
        e, out, _ = c.call("yes & sleep 0.1; echo end >&2"); assert e.code == 0
        time.sleep(0.2); assert d.rss() < 3000, d.rss()
    assert not alive(pid) and not alive(writer)


def test_everything_in_the_pipe_arrives():
    with Daemon() as d, d.client() as c:
        for n in (1, 4096, 65536, 65537, 1000000):
            assert len(c.call(f"head -c {n} /dev/zero")[1]) == n
        assert len(c.call("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2; sleep 3600 & exit")[1]) == 60000


def test_credit():
    with Daemon() as d, d.client() as c:
        k = c.start("yes", credit=1000); pid, _, _ = c.started(k)
        got = 0
        while got < 1000: got += len(c.expect(k, OUTPUT)) - 1
        assert got == 1000
        time.sleep(1); base = d.rss(); assert base < 2500, base
        c.sock.settimeout(0.2)
        try: c.on(k); assert False
        except TimeoutError: pass
        c.sock.settimeout(60)
        c.send(CREDIT, k, struct.pack("<I", 70000))
        while got < 71000: got += len(c.expect(k, OUTPUT)) - 1
        assert got == 71000
        c.send(KILL, k, struct.pack("<I", 0)); c.send(CREDIT, k, struct.pack("<I", BIG))
        e, out, _ = c.finish(k); assert e.cause == 2 and e.signal in (9, 15)
        # what the command had written when it ended waits for credit
        k = c.start("echo 12345", credit=2); c.started(k); assert c.expect(k, OUTPUT)[1:] == b"12"; time.sleep(0.2)
        c.send(CREDIT, k, struct.pack("<I", 3)); assert c.expect(k, OUTPUT)[1:] == b"345"; c.send(CREDIT, k, struct.pack("<I", 3)); assert c.finish(k)[1] == b"\n"


def test_client_that_does_not_read():
    with Daemon() as d, d.client() as c, d.client() as other:
        for _ in range(20): c.start("yes")
        time.sleep(2); rss = d.rss(); assert rss < 4000, rss
        t = time.time(); other.call("true"); assert time.time() - t < 3  # others are served
        for _ in range(3000): c.sock.setblocking(False)
        try:
            while True: c.sock.send(frame(0x40, 9999))
        except BlockingIOError: pass
        time.sleep(0.3); assert d.rss() < 4000, d.rss()
    # all were killed with the connection


def test_state_and_report():
    with Daemon() as d, d.client() as c:
        st = d.dir + "/state-file"
        e, _, _ = c.call("echo one >&3; echo r1 >&4", state=st); assert (e.saved, e.report, e.reason, open(st).read()) == (1, b"r1\n", "", "one\n")
        assert os.stat(st).st_mode & 0o777 == 0o600
        e, _, _ = c.call("exit 5", state=st); assert (e.saved, e.code, open(st).read()) == (0, 5, "one\n")
        e, _, _ = c.call("trap 'echo two >&3' EXIT; exit 6", state=st); assert (e.saved, e.code, open(st).read()) == (1, 6, "two\n")
        e, _, _ = c.call("echo part >&3; kill -9 $$", state=st); assert e.saved == 2 and e.reason and open(st).read() == "two\n"
        e, _, _ = c.call("echo x >&3", state=d.dir + "/no/such/dir"); assert e.saved == 2 and "No such" in e.reason, e
        os.mkdir(d.dir + "/adir"); e, _, _ = c.call("echo x >&3", state=d.dir + "/adir"); assert e.saved == 2 and e.code == 0
        e, _, _ = c.call("head -c 100000 /dev/zero >&4; echo big >&3", state=st); assert len(e.report) == 16384 and open(st).read() == "big\n"
        e, _, _ = c.call("head -c 3000000 /dev/zero >&3", state=st); assert e.saved == 1 and os.path.getsize(st) == 3000000
        e, _, _ = c.call("head -c 20000000 /dev/zero >&3", state=st); assert e.saved == 2 and os.path.getsize(st) == 3000000
        e, _, _ = c.call("echo three >&3; (sleep 1; echo late >&3) & disown", state=st); assert e.saved == 1 and open(st).read() == "three\n"
        e, _, _ = c.call("trap 'echo t >&3' EXIT; sleep 100", state=st, timeout=300); assert e.saved == 1 and open(st).read() == "t\n", e
        time.sleep(1); assert open(st).read() == "t\n"
        assert sorted(os.listdir(d.dir)) == ["adir", "run", "secret", "state", "state-file", "stderr"], os.listdir(d.dir)


def test_state_on_a_full_disk():
    with Daemon() as d, d.client() as c:
        m = d.dir + "/small"; os.mkdir(m)
        if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", m]): print("     (skipped: no mount)"); return
        try:
            open(m + "/st", "w").write("old")
            e, _, _ = c.call("head -c 200000 /dev/zero >&3; true", state=m + "/st")
            assert e.saved == 2 and "No space" in e.reason and open(m + "/st").read() == "old" and os.listdir(m) == ["st"], e
        finally: subprocess.call(["umount", "-l", m])


def test_pty():
    with Daemon() as d, d.client() as c:
        e, out, _ = c.call("stty size; tty; echo err >&2", flags=4, rows=33, cols=101); assert out.startswith(b"33 101\r\n/dev/pts/") and out.endswith(b"err\r\n") and e.code == 0, out
        k = c.start("trap 'echo winch; stty size' WINCH; echo ready; while :; do sleep 0.05; done", flags=4); _, credit, _ = c.started(k); assert credit > 0
        def until(k, text, out=b""):
            while text not in out:
                t, p = c.on(k)
                if t == OUTPUT: out += p[1:]
                else: assert t == INPUT_CREDIT, hex(t)
            return out
        until(k, b"ready"); c.send(RESIZE, k, struct.pack("<HH", 50, 132)); until(k, b"50 132")
        c.send(KILL, k, bytes(4)); c.finish(k)
        k = c.start("echo ready; exec sleep 100", flags=4); c.started(k); until(k, b"ready"); time.sleep(0.3)
        c.send(INPUT, k, b"\x03"); e, _, _ = c.finish(k); assert e.signal == 2, e  # ^C
        k = c.start(["cat"], flags=4); c.started(k); c.send(INPUT, k, b"line\n"); until(k, b"line\r\nline\r\n"); c.send(INPUT_END, k)
        e, out, _ = c.finish(k); assert e.code == 0, e
        e, out, _ = c.call("head -c 200000 /dev/zero | tr '\\0' x", flags=4); assert out.count(b"x") == 200000
        e, out, _ = c.call("seq 100000", flags=4); assert out.split() == [b"%d" % i for i in range(1, 100001)]
        for _ in range(30): e, out, _ = c.call("echo last words", flags=4); assert out == b"last words\r\n"
        k = c.start("exec bash -i", flags=4, env={"PATH": os.environ["PATH"], "TERM": "xterm", "PS1": "$ "}); c.started(k); c.send(INPUT, k, b"sleep 50\n"); time.sleep(0.5); c.send(INPUT, k, b"\x03"); time.sleep(0.3)
        c.send(INPUT, k, b"echo rc=$?\n"); until(k, b"rc=130"); c.send(INPUT, k, b"exit 7\n"); assert c.finish(k)[0].code == 7
        k = c.start(["cat"], flags=4); c.started(k); assert c.status()["ptys"] == 1; c.send(SIGNAL, k, b"\x0f"); assert c.finish(k)[0].signal == 15
        big = b"y" * 3000 + b"\n"
        k = c.start("stty -echo raw; head -c 120040 | wc -c", flags=4); _, credit, _ = c.started(k); time.sleep(0.3); c.feed(k, big * 40, credit, end=False); e, out, _ = c.finish(k); assert b"120040" in out, out[:100]


def test_many_channels_at_once():
    with Daemon() as d, d.client() as c:
        ks = [c.start(f"sleep 0.2; echo {i}") for i in range(200)]
        for i, k in enumerate(ks): c.started(k); assert c.finish(k)[1] == b"%d\n" % i


def test_slow_call_delays_nobody():
    with Daemon() as d, d.client() as c, d.client() as o:
        c.start("yes > /dev/null"); c.start("sleep 100")
        t = time.time(); o.call("true"); assert time.time() - t < 3
