from client import *


def u64(n): return struct.pack("<Q", n)
def log(c, id, offset=0, follow=0, credit=BIG): return c.request(0x21, s(id) + u64(offset) + bytes([follow]) + struct.pack("<I", credit))
def read(c, id, offset=0): k = log(c, id, offset); _, at = c.opened(k); return at, c.stream(k)[0]
def wait(c, id): k = c.request(0x23, s(id)); return Ended(c.expect(k, ENDED))


def test_life():
    with Daemon() as d:
        c = d.client(); id, pid = c.process("echo out; echo err >&2; sleep 1000", name="my server"); assert id.startswith("p_") and len(id) == 10
        c.sock.close()  # its starter is gone
        c = d.client(); [p] = c.processes()
        assert (p["id"], p["name"], p["pid"], p["state"], p["command"], p["ended"], p["pty"], p["input"]) == (id, "my server", pid, 0, b"shown", 0, 0, 0), p
        assert abs(p["started"] / 1000 - time.time()) < 10 and alive(pid)
        wait_for(lambda: read(c, id) == (0, b"out\nerr\n")); assert read(c, id, 4) == (4, b"err\n") and read(c, id, 8) == (8, b"") and read(c, id, 99) == (8, b"")
        assert os.stat(d.state + f"/processes/{id}.log").st_mode & 0o777 == 0o600
        w = d.client(); k = w.request(0x23, s(id)); assert c.status()["processes"] == 1
        t = time.time(); c.simple(0x24, s(id) + struct.pack("<I", 1000)); assert not alive(pid) and time.time() - t < 3
        e = Ended(w.expect(k, ENDED)); assert (e.signal, e.cause) == (15, 2), e
        [p] = c.processes(); assert (p["state"], p["signal"], p["cause"], p["bytes"], p["pid"]) == (1, 15, 2, 8, pid) and p["ended"] >= p["started"]
        c.simple(0x24, s(id) + struct.pack("<I", 0)); assert wait(c, id).signal == 15
        assert read(c, id) == (0, b"out\nerr\n"); c.simple(0x27, s(id)); assert c.processes() == [] and os.listdir(d.state + "/processes") == []
        for t, p in [(0x21, u64(0) + b"\0" + bytes(4)), (0x22, bytes(8)), (0x23, b""), (0x24, bytes(4)), (0x25, b"\x01"), (0x26, b"\0hi"), (0x27, b"")]:
            try: c.simple(t, s("p_00000000") + p); assert False
            except Failed as f: assert f.errno == 3


def test_exit_code_and_failures():
    with Daemon() as d, d.client() as c:
        id, _ = c.process("exit 7"); e = wait(c, id); assert (e.code, e.signal, e.cause) == (7, 0, 0)
        for argv, kw in [(["nonexistent"], {}), ("true", dict(cwd="/nonexistent"))]:
            try: c.process(argv, **kw); assert False
            except Failed as f: assert f.errno == 2
        assert len(c.processes()) == 1 and len(os.listdir(d.state + "/processes")) == 1
        id, _ = c.process("sleep 100", timeout=200, grace=100); e = wait(c, id); assert e.cause == 1 and e.signal == 15
        id, _ = c.process("echo st >&3; echo rep >&4", state=d.dir + "/st"); e = wait(c, id); assert (e.saved, e.report) == (1, b"rep\n")
        try: c.simple(0x25, s(id) + b"\x0f"); assert False
        except Failed as f: assert f.errno == 3
        id, _ = c.process("sleep 100")
        try: c.simple(0x27, s(id)); assert False
        except Failed as f: assert f.errno == 16
        c.simple(0x25, s(id) + bytes([10])); assert wait(c, id).signal == 10


def test_follow():
    with Daemon() as d, d.client() as c, d.client() as f:
        id, _ = c.process("for i in 1 2 3; do echo $i; sleep 0.3; done; exit 3"); k = log(f, id, follow=1); f.opened(k); times = []
        out = b""
        while True:
            t, p = f.on(k); times.append(time.time())
            if t == ENDED: break
            out += p[1:]
        assert out == b"1\n2\n3\n" and Ended(p).code == 3 and times[-1] - times[0] > 0.4
        k = log(c, id, follow=1, offset=2); assert c.opened(k) == (0, 2); out, e = c.stream(k, (ENDED,)); assert out == b"2\n3\n" and e.code == 3
        id, _ = c.process("yes"); k = log(f, id, follow=1, credit=100); f.opened(k); assert len(f.expect(k, OUTPUT)) == 101
        time.sleep(0.2); f.send(DETACH, k); f.expect(k, DONE); c.simple(0x24, s(id) + bytes(4))
        k = log(c, id, follow=1); c.opened(k); n = len(c.stream(k, (ENDED,))[0]); assert n == c.processes()[-1]["bytes"] > 100000
        k = c.request(0x23, s(id)); c.expect(k, ENDED)
        id, _ = c.process("sleep 100"); k = c.request(0x23, s(id)); c.send(DETACH, k); c.expect(k, DONE); c.simple(0x24, s(id) + bytes(4))


def test_cap():
    with Daemon() as d, d.client() as c:
        id, _ = c.process("seq 100000", cap=10000); wait(c, id); whole = b"".join(b"%d\n" % i for i in range(1, 100001))
        at, kept = read(c, id); assert kept == whole[at:] and 5000 <= len(kept) <= 10000, (at, len(kept))
        assert read(c, id, len(whole) - 10) == (len(whole) - 10, whole[-10:]) and c.processes()[0]["bytes"] == len(whole)
        assert sum(os.path.getsize(d.state + "/processes/" + f) for f in os.listdir(d.state + "/processes")) == len(kept)
        k = log(c, id, offset=5, follow=1); _, at2 = c.opened(k); assert at2 == at and c.stream(k, (ENDED,))[0] == kept
        id, _ = c.process("echo -n 12345", cap=1); wait(c, id); assert read(c, id) == (3, b"45")
        id, _ = c.process("for i in $(seq 2000); do echo $i; done; sleep 100", cap=1000); time.sleep(1); f = d.client(); k = log(f, id, follow=1); _, at = f.opened(k); assert at > 0
        c.simple(0x24, s(id) + bytes(4)); out, e = f.stream(k, (ENDED,)); assert out.endswith(b"2000\n")
        c.simple(0x27, s(id)); assert not [f for f in os.listdir(d.state + "/processes") if f.startswith(id)]


def test_slow_reader_of_a_capped_log_is_told():
    with Daemon() as d, d.client() as c:
        id, _ = c.process("seq 1000; sleep 0.5; seq 100000", cap=20000); time.sleep(0.2); k = log(c, id, follow=1, credit=10); assert c.opened(k) == (0, 0) and c.expect(k, OUTPUT)[1:] == b"1\n2\n3\n4\n5\n"
        wait(c, id); c.send(CREDIT, k, struct.pack("<I", BIG)); whole = b"".join(b"%d\n" % i for i in list(range(1, 1001)) + list(range(1, 100001))); _, at = c.opened(k); assert at > 10
        assert c.stream(k, (ENDED,))[0] == whole[at:]


def test_write():
    with Daemon() as d, d.client() as c:
        id, _ = c.process("cat", flags=1); assert c.processes()[0]["input"] == 1
        c.simple(0x26, s(id) + b"\0hello "); c.simple(0x26, s(id) + b"\1world"); assert wait(c, id).code == 0 and read(c, id)[1] == b"hello world"
        try: c.simple(0x26, s(id) + b"\0x"); assert False
        except Failed as f: assert f.errno == 32
        id, _ = c.process("sleep 100", flags=1); k = c.request(0x26, s(id) + b"\0" + bytes(200000)); time.sleep(0.2)
        try: c.simple(0x26, s(id) + b"\0" + bytes(200000)); assert False
        except Failed as f: assert f.errno == 11
        c.simple(0x24, s(id) + bytes(4))
        try: c.expect(k, DONE); assert False
        except Failed as f: assert f.errno == 32
        id, _ = c.process("sleep 1; wc -c", flags=1); k = c.request(0x26, s(id) + b"\1" + bytes(200000)); o = d.client(); k2 = o.request(0x26, s(id) + b"\0x"); time.sleep(0.2); o.close()
        c.expect(k, DONE); assert wait(c, id).code == 0 and read(c, id)[1].strip() == b"200000"
        id, _ = c.process("sleep 100"); 
        try: c.simple(0x26, s(id) + b"\0x"); assert False
        except Failed as f: assert f.errno == 32


def test_attach_pty():
    with Daemon() as d, d.client() as c, d.client() as a:
        id, _ = c.process("exec bash --norc -i", flags=4, env={"PATH": os.environ["PATH"], "TERM": "xterm", "PS1": "$ "}); time.sleep(0.3); assert c.processes()[0]["pty"] == 1 and c.processes()[0]["input"] == 1
        k = a.request(0x22, s(id) + struct.pack("<HHI", 40, 99, BIG)); credit, at = a.opened(k); assert credit > 0
        def until(text, out=b""):
            while text not in out:
                t, p = a.on(k)
                if t == OUTPUT: out += p[1:]
                else: assert t == INPUT_CREDIT
            return out
        a.send(INPUT, k, b"stty size\n"); until(b"40 99"); a.send(RESIZE, k, struct.pack("<HH", 50, 120)); a.send(INPUT, k, b"stty size\n"); until(b"50 120")
        a.send(DETACH, k)
        while a.on(k)[0] != DONE: pass
        assert c.processes()[0]["state"] == 0
        k = a.request(0x22, s(id) + struct.pack("<HHI", 0, 0, BIG)); a.opened(k); a.send(INPUT, k, b"sleep 100\n"); time.sleep(0.3); a.send(INPUT, k, b"\x03"); a.send(INPUT, k, b"echo rc=$?\n"); until(b"rc=130")
        a.send(INPUT, k, b"\n"); a.send(INPUT_END, k)
        while True:
            t, p = a.on(k)
            if t == ENDED: break
            assert t in (OUTPUT, INPUT_CREDIT)
        assert wait(c, id).signal == 0
        id, _ = c.process("cat", flags=5); k = a.request(0x22, s(id) + struct.pack("<HHI", 0, 0, BIG)); a.opened(k); a.send(SIGNAL, k, b"\x09")
        assert Ended(a.expect(k, ENDED)).signal == 9


def test_table_is_bounded():
    with Daemon() as d, d.client() as c:
        first, _ = c.process("true"); wait(c, first); ids = [first]
        for _ in range(63): ids.append(c.process("sleep 1000")[0])
        new, _ = c.process("sleep 1000"); now = [p["id"] for p in c.processes()]; assert first not in now and new in now and len(now) == 64
        try: c.process("sleep 1000"); assert False
        except Failed as f: assert f.errno == 11
        assert len(os.listdir(d.state + "/processes")) == 64
        c.simple(0x24, s(ids[5]) + bytes(4)); c.process("sleep 1000")
        id, _ = (c.simple(0x24, s(ids[6]) + bytes(4)), c.process(["bash", "-c", "sleep 1000", "x" * 3000, "y" * 3000, "z" * 100000]))[1]
        assert c.processes()[-1]["command"] == b"shown"
        k = c.request(0x23, s(id)); o = d.client(); c.simple(0x24, s(id) + bytes(4)); c.expect(k, ENDED); k = log(o, id, follow=0, credit=0); o.opened(k)


def test_leftovers_of_an_ended_process():
    with Daemon() as d, d.client() as c:
        id, _ = c.process("setsid sleep 1000 & echo $!"); assert wait(c, id).code == 0; pid = int(read(c, id)[1]); assert alive(pid)
        c.simple(0x24, s(id) + bytes(4)); assert not alive(pid)
        id, _ = c.process("setsid sleep 1000 & echo $!"); wait(c, id); pid = int(read(c, id)[1]); c.simple(0x27, s(id)); assert alive(pid)
    assert not alive(pid)
