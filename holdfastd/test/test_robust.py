from client import *
import random, threading


def valid(d):
    """The bytes of a client's whole life, with the handshake apart."""
    c = Client(d); sent = []; c.send = lambda t, ch, p=b"": (sent.append(frame(t, ch, p)), c.sock.sendall(sent[-1]))[1]
    c.call("cat; echo x", input=b"abc"); c.status(); id, _ = c.process("echo x"); c.processes(); k = c.request(0x21, s(id) + bytes(8) + b"\1" + struct.pack("<I", 100)); c.stream(k, (ENDED,)) if c.opened(k) else 0
    c.simple(0x31, s("/")); c.simple(0x30, s("/etc") + b"\0"); c.close(); return b"".join(sent)


def test_garbage():
    with Daemon() as d:
        rnd = random.Random(7)
        for data in [b"GET / HTTP/1.0\r\n\r\n", bytes(9), b"\xff" * 100, struct.pack("<IBI", 262145, 1, 0), struct.pack("<IBI", 4, 1, 0), frame(1, 0, b"HFD\x02" + bytes(32)), frame(1, 1, b"HFD\x01" + bytes(32)), frame(1, 0, b"HFD\x01" + bytes(31)), frame(1, 0, b"HFD\x01" + bytes(33)), frame(0x10, 1), frame(0x40, 1), struct.pack("<I", 600) + bytes(600)] + [rnd.randbytes(rnd.randrange(9, 300)) for _ in range(50)]:
            c = Client(d, handshake=False); c.raw(data); c.sock.settimeout(8); assert c.closed(); c.close()
        c = Client(d, handshake=False); c.send(HELLO, 0, b"HFD\x01" + bytes(32)); c.recv(); c.send(PROOF, 0, bytes(32) + s("x")); assert c.closed()
        c = Client(d, handshake=False); c.send(HELLO, 0, b"HFD\x01" + bytes(32)); c.recv(); c.send(0x40, 1); assert c.closed()
        t = time.time(); c = Client(d, handshake=False); c.raw(b"\x29"); c.sock.settimeout(8); assert c.closed() and 4.5 < time.time() - t < 7
        good = struct.pack("<BBIIIHHQ", 0, 0, 0, 0, 0, 0, 0, 0)
        for t, ch, p in [(0x10, 1, b""), (0x10, 0, good), (0x10, 1, good + s("") * 3 + lst([]) + lst([])), (0x10, 1, good + s("") * 3 + lst(["a"] * 4097) + lst([])), (0x10, 1, good + s("") * 3 + lst(["a\0b"]) + lst([])), (0x10, 1, good + s("rel") + s("") * 2 + lst(["a"]) + lst([])),
                         (0x10, 1, good + s("") * 3 + lst(["true"]) + lst([]) + b"x"), (0x10, 1, b"\2" + good[1:] + s("") * 3 + lst(["true"]) + lst([])), (0x10, 1, good + s("") * 3 + struct.pack("<I", 0xffffffff)), (0x10, 1, good + s("") * 2 + s("n" * 257) + lst(["true"]) + lst([])), (0x10, 1, good + struct.pack("<I", 0xffffffff)),
                         (0x40, 0, b""), (0x40, 1, b"x"), (0x99, 1, b""), (0x43, 1, b""), (0x01, 0, b"HFD\x01" + bytes(32)), (0x13, 5, b"123"), (0x11, 0, b"x"), (0x30, 1, s("relative") + b"\0"), (0x33, 1, s("") + b"\0\0\1"), (0x35, 1, s("") + b"\0\0\1"), (0x31, 1, s("")), (0x32, 1, s("/x") + bytes(19)), (0x16, 9, bytes(3)), (0x12, 9, b"x"), (0xff, 1, b"")]:
            with d.client() as c: c.send(t, ch, p); c.sock.settimeout(8); assert c.closed(), (t, ch, p)
        with d.client() as c:
            for t in (INPUT, INPUT_END, DETACH): c.send(t, 77)
            c.send(CREDIT, 77, bytes(4)); c.send(KILL, 77, bytes(4)); c.send(SIGNAL, 77, b"\x09"); c.send(RESIZE, 77, bytes(4)); assert c.call("echo x")[1] == b"x\n"
            k = c.start("sleep 100"); c.start("true", channel=k); assert c.closed()  # open twice
        wait_for(lambda: not d.children()); assert d.fds() < 15


def test_client_vanishes_at_every_byte():
    with Daemon() as d:
        data = valid(d); fds = d.fds()
        for i in range(0, len(data), 3):
            c = d.client(); c.raw(data[:i]); c.close()
        nonce = frame(1, 0, b"HFD\x01" + bytes(32))
        for i in range(len(nonce)): c = Client(d, handshake=False); c.raw(nonce[:i]); c.close()
        with d.client() as c:
            wait_for(lambda: c.status()["calls"] == 0 and c.status()["leases"] == 1); [c.simple(0x24, s(p["id"]) + bytes(4)) for p in c.processes()]
        wait_for(lambda: not d.children() and d.fds() <= fds + 64); print(f"     {len(data)} bytes")


def test_bytes_one_by_one():
    with Daemon() as d, d.client() as c:
        for b in frame(0x10, 5, struct.pack("<BBIIIHHQ", 0, 0, 0, 0, 1000, 0, 0, 0) + s("") * 4 + lst(["echo", "hi"]) + lst([])): c.raw(bytes([b])); time.sleep(0.001)
        c.started(5); assert c.finish(5)[1] == b"hi\n"
        c.raw(b"".join(frame(0x40, i) for i in range(1, 3000)))
        for i in range(1, 3000): c.expect(i, STATUS); c.expect(i, DONE)
        big = ["x" * 100000, "y" * 100000]; e, out, _ = c.call(["bash", "-c", "echo ${#1} ${#2}", "x"] + big); assert out == b"100000 100000\n"


def test_random_frames():
    with Daemon() as d:
        data = valid(d); rnd = random.Random(11)
        for i in range(600):
            m = bytearray(data[:len(data) - 30])
            for _ in range(rnd.randint(1, 6)):
                at = rnd.randrange(len(m)); m[at] = rnd.randrange(256)
            m = m.replace(b"\x34", b"\x30").replace(b"\x42\0\0\0\0", b"\x40\0\0\0\0")  # neither REMOVE nor STOP
            c = d.client(); c.raw(bytes(m)); c.sock.shutdown(socket.SHUT_WR) if i % 2 else None; c.close()
        with d.client() as c: wait_for(lambda: c.status()["calls"] == 0, 30); assert c.call("echo x")[1] == b"x\n"
        print(f"     rss {d.rss()} kB, {d.fds()} descriptors")


def test_out_of_descriptors():
    import resource
    with Daemon(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))) as d:
        c = d.client(); ks = [c.start("sleep 1000") for _ in range(40)]; failed = started = 0
        for k in ks:
            try: c.started(k); started += 1
            except Failed as f: assert f.errno == 24, f; failed += 1
        assert failed > 10 and started > 5, (failed, started); assert c.status()["calls"] == started
        more = []
        for _ in range(30): x = socket.socket(socket.AF_UNIX); x.connect(d.path); more.append(x)
        time.sleep(0.5); cpu = os.times(); t0 = open(f"/proc/{d.pid}/stat").read().split()[13:15]; time.sleep(1); t1 = open(f"/proc/{d.pid}/stat").read().split()[13:15]; assert sum(map(int, t1)) - sum(map(int, t0)) < 30  # it does not spin
        [x.close() for x in more]; c.close(); wait_for(lambda: not d.children())
        with d.client() as c: assert c.call("echo x")[1] == b"x\n"


def test_too_many_channels():
    with Daemon() as d, d.client() as c:
        id, _ = c.process("sleep 1000"); c.raw(b"".join(frame(0x23, i, s(id)) for i in range(10, 10 + 4200))); n = 0
        c.status()
        for i in range(10, 4210):
            if c.inbox.get(i): r = Reader(c.inbox[i][0][1]); assert r.num(4) == 11; n += 1
        assert n == 104, n
        c.simple(0x24, s(id) + bytes(4)) if 0 else None


def test_too_many_connections():
    with Daemon() as d:
        cs = []
        for _ in range(1023): cs.append(d.client())
        st = cs[0].status(); assert st["leases"] == 1023 and len(st["labels"]) == 512
        x = d.client(); y = Client(d, handshake=False); assert y.closed(); [c.close() for c in cs]; x.close(); wait_for(lambda: d.fds() < 15); wait_for(lambda: d.rss() < 1024); print(f"     rss after {d.rss()} kB")


def test_thousand_concurrent():
    with Daemon() as d, d.client() as c:
        ks = [c.start("read x; echo $x", flags=1) for _ in range(1000)]; 
        for k in ks: c.started(k)
        assert c.status()["calls"] == 1000; high = d.rss(), d.fds()
        for i, k in enumerate(ks): c.send(INPUT, k, b"%d\n" % i)
        for i, k in enumerate(ks): assert c.finish(k)[1] == b"%d\n" % i
        wait_for(lambda: not d.children()); print(f"     rss {high[0]} kB with {high[1]} descriptors, then {d.rss()} kB with {d.fds()}")
        assert d.fds() < 15 and d.rss() < 1600


def test_idle_size():
    with Daemon() as d:
        first = d.rss()
        with d.client() as c:
            for _ in range(200): c.call("head -c 100000 /dev/zero")
        time.sleep(0.2); print(f"     rss {first} kB fresh, {d.rss()} kB after use"); assert "debug" in BINARY or d.rss() < 1024


def test_tiny_input_costs_little():
    with Daemon() as d, d.client() as c:
        ks = [c.start("sleep 1000", flags=1) for _ in range(20)]; [c.started(k) for k in ks]
        for k in ks: c.raw(frame(INPUT, k, bytes(65536))); c.expect(k, INPUT_CREDIT)  # the pipe is full
        for k in ks: c.raw(frame(INPUT, k, b"x") * 65536 + frame(INPUT, k) * 1000 + frame(INPUT_END, k) * 1000)
        c.status(); print(f"     rss {d.rss()} kB"); assert d.rss() < 20 * 80 + 1000
        k = c.start("exec sleep 1000", flags=4); c.started(k); c.raw(frame(INPUT_END, k) * 100000); c.status(); assert d.rss() < 6000, d.rss()
