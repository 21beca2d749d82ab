"""A small client of the protocol, for the tests of the daemon."""
import hashlib, hmac, os, socket, struct, subprocess, tempfile, time, signal, shutil, select

HELLO, PROOF, START, INPUT, INPUT_END, CREDIT, KILL, SIGNAL, RESIZE, DETACH = 1, 2, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17
STARTED, OUTPUT, ENDED, INPUT_CREDIT, OPENED, DONE, PROCESS, ENTRY, STATUS, FAILED = 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0xA0, 0xB0, 0xC0, 0x9F
BINARY = os.environ.get("HOLDFASTD", os.path.join(os.path.dirname(__file__), "..", "holdfastd"))
BIG = 1 << 30


def s(value):
    if isinstance(value, str): value = os.fsencode(value)
    return struct.pack("<I", len(value)) + value


def lst(values): return struct.pack("<I", len(values)) + b"".join(s(v) for v in values)
def frame(type, channel, payload=b""): return struct.pack("<IBI", len(payload) + 5, type, channel) + payload


class Reader:
    def __init__(self, data): self.data, self.at = data, 0
    def num(self, n):
        v = int.from_bytes(self.data[self.at:self.at + n], "little"); assert self.at + n <= len(self.data); self.at += n; return v
    def str(self):
        n = self.num(4); v = self.data[self.at:self.at + n]; assert len(v) == n; self.at += n; return v
    def list(self): return [self.str() for _ in range(self.num(4))]
    def end(self): assert self.at == len(self.data), (self.at, self.data)


class Closed(Exception): pass
class Failed(Exception):
    def __init__(self, errno, message): super().__init__(errno, message); self.errno, self.message = errno, message


class Ended:
    def __init__(self, p):
        r = Reader(p); self.code, self.signal, self.cause, self.saved = r.num(1), r.num(1), r.num(1), r.num(1)
        self.report, self.reason = r.str(), r.str().decode(); r.end()
    def __repr__(self): return f"Ended{self.__dict__}"


class Client:
    def __init__(self, daemon, label="test", handshake=True, sock=None):
        self.secret, self.next, self.inbox, self.buf = daemon.secret, 1, {}, b""
        self.sock = sock
        if not sock:
            self.sock = socket.socket(socket.AF_UNIX); self.sock.connect(daemon.path)
        self.sock.settimeout(60)
        if handshake: self.handshake(label)

    def handshake(self, label):
        nonce = os.urandom(32)
        self.send(HELLO, 0, b"HFD\x01" + nonce)
        t, c, p = self.recv(); assert (t, c, p[0], len(p)) == (0x81, 0, 1, 65), (t, c, p)
        theirs = p[1:33]
        assert p[33:] == hmac.new(self.secret, b"daemon" + nonce + theirs, hashlib.sha256).digest()
        self.send(PROOF, 0, hmac.new(self.secret, b"client" + theirs + nonce, hashlib.sha256).digest() + s(label))
        t, c, p = self.recv(); assert (t, c) == (0x82, 0)
        r = Reader(p); self.pid, self.build = r.num(4), r.str(); r.end()

    def send(self, type, channel, payload=b""): self.sock.sendall(frame(type, channel, payload))
    def raw(self, data): self.sock.sendall(data)

    def recv(self):
        while True:
            if len(self.buf) >= 4:
                n = struct.unpack_from("<I", self.buf)[0]; assert 5 <= n <= 262144, n
                if len(self.buf) >= n + 4:
                    t, c = struct.unpack_from("<BI", self.buf, 4); p = self.buf[9:n + 4]; self.buf = self.buf[n + 4:]
                    return t, c, p
            try: data = self.sock.recv(1 << 20)
            except ConnectionResetError: raise Closed()
            if not data: raise Closed()
            self.buf += data

    def on(self, channel):
        """The next frame on the channel; others wait in the inbox."""
        box = self.inbox.setdefault(channel, [])
        while not box:
            t, c, p = self.recv(); self.inbox.setdefault(c, []).append((t, p))
        return box.pop(0)

    def expect(self, channel, *types):
        t, p = self.on(channel)
        if t == FAILED and FAILED not in types:
            r = Reader(p); raise Failed(r.num(4), r.str().decode())
        assert t in types, (hex(t), p[:200])
        return p

    def channel(self): self.next += 1; return self.next
    def closed(self):
        """True when the daemon has cut us off."""
        try:
            while True: self.recv()
        except Closed: return True

    def start(self, argv, kind=0, flags=0, timeout=0, grace=1000, credit=BIG, rows=24, cols=80, cap=0, cwd="", state="", name="", env=None, channel=None, shown="shown"):
        c = channel or self.channel()
        if isinstance(argv, str): argv = ["bash", "-c", argv]
        if env is None: env = {"PATH": os.environ["PATH"]}
        self.send(START, c, struct.pack("<BBIIIHHQ", kind, flags, timeout, grace, credit, rows, cols, cap) + s(cwd) + s(state) + s(name) + s(shown) + lst(argv) + lst([f"{k}={v}" for k, v in env.items()]))
        return c

    def started(self, c):
        r = Reader(self.expect(c, STARTED)); pid, credit, id = r.num(4), r.num(4), r.str().decode(); r.end(); return pid, credit, id

    def finish(self, c, out=None):
        """All output and ENDED."""
        out = out if out is not None else {1: b"", 2: b""}
        parts = {1: [out[1]], 2: [out[2]]}
        while True:
            t, p = self.on(c)
            if t == OUTPUT: assert len(p) <= 65537; parts[p[0]].append(p[1:])
            elif t == ENDED: return Ended(p), b"".join(parts[1]), b"".join(parts[2])
            elif t == FAILED: r = Reader(p); raise Failed(r.num(4), r.str().decode())
            elif t == INPUT_CREDIT: pass
            else: raise AssertionError((hex(t), p))

    def call(self, argv, input=None, **kw):
        if input is not None: kw["flags"] = kw.get("flags", 0) | 1
        c = self.start(argv, **kw); _, credit, _ = self.started(c)
        if input is not None: self.feed(c, input, credit)
        return self.finish(c)

    def feed(self, c, data, credit, end=True):
        at, aside = 0, []
        while at < len(data):
            while credit == 0:
                t, p = self.on(c)
                if t == INPUT_CREDIT: credit += struct.unpack("<I", p)[0]
                else: aside.append((t, p))
                if t in (ENDED, FAILED): self.inbox[c][:0] = aside; return
            n = min(credit, len(data) - at, 200000)
            self.send(INPUT, c, data[at:at + n]); at += n; credit -= n
        self.inbox.setdefault(c, [])[:0] = aside
        if end: self.send(INPUT_END, c)

    def request(self, type, payload=b"", channel=None):
        c = channel or self.channel(); self.send(type, c, payload); return c

    def simple(self, type, payload=b""):
        c = self.request(type, payload); frames = []
        while True:
            t, p = self.on(c)
            if t == FAILED: r = Reader(p); raise Failed(r.num(4), r.str().decode())
            if t == DONE: assert p == b""; return frames
            frames.append((t, p))

    def status(self):
        [(t, p)] = self.simple(0x40); assert t == STATUS
        r = Reader(p); d = dict(uptime=r.num(8), idle=r.num(8), idle_stop=r.num(4), leases=r.num(4), calls=r.num(4), processes=r.num(4), ptys=r.num(4), last=r.str().decode())
        d["labels"] = [(r.str().decode(), r.num(8)) for _ in range(r.num(4))]; r.end(); return d

    def processes(self):
        out = []
        for t, p in self.simple(0x20):
            assert t == PROCESS; r = Reader(p)
            out.append(dict(id=r.str().decode(), name=r.str().decode(), pid=r.num(4), state=r.num(1), code=r.num(1), signal=r.num(1), cause=r.num(1), pty=r.num(1), input=r.num(1), started=r.num(8), ended=r.num(8), bytes=r.num(8), command=r.str())); r.end()
        return out

    def process(self, argv, **kw):
        c = self.start(argv, kind=1, **kw); pid, _, id = self.started(c); self.expect(c, DONE); return id, pid

    def opened(self, c): r = Reader(self.expect(c, OPENED)); v = r.num(4), r.num(8); r.end(); return v

    def stream(self, c, last=(DONE,)):
        out = []
        while True:
            t, p = self.on(c)
            if t == OUTPUT: out.append(p[1:])
            elif t in last: return b"".join(out), (Ended(p) if t == ENDED else None)
            elif t == FAILED: r = Reader(p); raise Failed(r.num(4), r.str().decode())
            else: raise AssertionError((hex(t), p))

    def close(self): self.sock.close()
    def __enter__(self): return self
    def __exit__(self, *a): self.close()


class Daemon:
    def __init__(self, *args, env=None, binary=None, preexec=None):
        self.dir = tempfile.mkdtemp(prefix="hfd-"); self.path = self.dir + "/run/s"; self.state = self.dir + "/state"
        self.secret = os.urandom(32); self.secret_file = self.dir + "/secret"; self.log = self.dir + "/stderr"
        open(self.secret_file, "w").write(self.secret.hex())
        self.argv = [binary or BINARY, "serve", "--socket", self.path, "--state", self.state, "--secret-file", self.secret_file, *args]
        self.proc = subprocess.Popen(self.argv, stderr=open(self.log, "w"), env=env, preexec_fn=preexec)
        for _ in range(500):
            try: c = socket.socket(socket.AF_UNIX); c.connect(self.path); c.close(); break
            except OSError: time.sleep(0.01)
            if self.proc.poll() is not None: raise Exception(open(self.log).read())
        self.pid = self.proc.pid

    def rss(self): return 0 if "debug" in BINARY else self.field("VmRSS")  # sanitizers keep freed memory
    def field(self, name): return next(int(l.split()[1]) for l in open(f"/proc/{self.pid}/status") if l.startswith(name + ":"))
    def fds(self): return len(os.listdir(f"/proc/{self.pid}/fd"))
    def stderr(self): return open(self.log).read()
    def client(self, **kw): return Client(self, **kw)
    def children(self): return children(self.pid)

    def stop(self, check=True):
        if self.proc.poll() is None: self.proc.send_signal(signal.SIGTERM)
        code = self.proc.wait(20); err = self.stderr(); shutil.rmtree(self.dir, ignore_errors=True)
        if check: assert code == 0 and not err, (code, err)
        return code

    def __enter__(self): return self
    def __exit__(self, *a): self.stop(check=a[0] is None)


def stat(pid):
    try: t = open(f"/proc/{pid}/stat").read()
    except (FileNotFoundError, ProcessLookupError): return None
    r = t[t.rindex(")") + 2:].split(); return r[0], int(r[1])
def alive(pid): st = stat(pid); return st is not None and st[0] not in "ZX"
def children(pid): return [int(p) for p in os.listdir("/proc") if p.isdigit() and (stat(p) or ("", -1))[1] == pid]
def wait_for(fn, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        v = fn()
        if v: return v
        time.sleep(0.01)
    raise AssertionError("timed out waiting")
