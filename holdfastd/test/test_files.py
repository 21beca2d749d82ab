from client import *
import io, tarfile, random, hashlib as hl


def entry(p):
    r = Reader(p); e = dict(name=r.str(), kind=r.num(1), mode=r.num(4), size=r.num(8), modified=r.num(8), target=r.str()); r.end(); return e
def stat_(c, path, follow=0): [(t, p)] = c.simple(0x30, s(path) + bytes([follow])); assert t == ENTRY; return entry(p)
def ls(c, path): return sorted((entry(p) for t, p in c.simple(0x31, s(path))), key=lambda e: e["name"])
def read(c, path, offset=0, limit=0, credit=BIG): k = c.request(0x32, s(path) + struct.pack("<QQI", offset, limit, credit)); _, size = c.opened(k); return size, c.stream(k)[0]
def write(c, path, data, mode=0o644, flags=0):
    k = c.request(0x33, s(path) + struct.pack("<HB", mode, flags)); credit, _ = c.opened(k); c.feed(k, data, credit)
    while True:
        t, p = c.on(k)
        if t == DONE: return
        if t == FAILED: r = Reader(p); raise Failed(r.num(4), r.str().decode())
def tar_out(c, path, credit=BIG): k = c.request(0x36, s(path) + struct.pack("<I", credit)); c.opened(k); return c.stream(k)[0]
def tar_in(c, path, data):
    k = c.request(0x37, s(path)); credit, _ = c.opened(k); c.feed(k, data, credit)
    while True:
        t, p = c.on(k)
        if t == DONE: return
        if t == FAILED: r = Reader(p); raise Failed(r.num(4), r.str().decode())
def fails(errno, fn, *a, **k):
    try: fn(*a, **k)
    except Failed as f: assert f.errno == errno, f; return f
    raise AssertionError("did not fail")


def test_simple():
    with Daemon() as d, d.client() as c:
        b = d.dir + "/w"; c.simple(0x35, s(b) + struct.pack("<HB", 0o750, 0)); assert os.stat(b).st_mode & 0o7777 == 0o750
        fails(17, c.simple, 0x35, s(b) + struct.pack("<HB", 0o750, 0)); c.simple(0x35, s(b) + struct.pack("<HB", 0o750, 1)); c.simple(0x35, s(b + "/p/q/r") + struct.pack("<HB", 0o755, 1)); assert os.stat(b + "/p/q").st_mode & 0o777 == 0o755
        fails(2, c.simple, 0x35, s(b + "/x/y") + struct.pack("<HB", 0o750, 0))
        data = os.urandom(1000000); write(c, b + "/f", data, 0o640); assert open(b + "/f", "rb").read() == data and os.stat(b + "/f").st_mode & 0o7777 == 0o640
        assert read(c, b + "/f") == (1000000, data) and read(c, b + "/f", 10, 5) == (1000000, data[10:15]) and read(c, b + "/f", 999999)[1] == data[-1:] and read(c, b + "/f", 2000000)[1] == b""
        write(c, b + "/f", b""); assert read(c, b + "/f") == (0, b""); write(c, b + "/n/m/f", b"x", 0o600, 3); assert os.stat(b + "/n").st_mode & 0o777 == 0o700
        os.symlink("f", b + "/link"); os.symlink("/nonexistent", b + "/dangling"); write(c, b + "/f", b"hello"); e = stat_(c, b + "/link"); assert (e["name"], e["kind"], e["target"]) == (b"link", 3, b"f")
        e = stat_(c, b + "/link", 1); assert (e["kind"], e["size"], e["mode"]) == (1, 5, 0o644) and abs(e["modified"] / 1000 - time.time()) < 60 and read(c, b + "/link")[1] == b"hello"
        os.mkfifo(b + "/fifo"); assert [(e["name"], e["kind"]) for e in ls(c, b)] == [(b"dangling", 3), (b"f", 1), (b"fifo", 4), (b"link", 3), (b"n", 2), (b"p", 2)]
        fails(22, read, c, b + "/fifo"); fails(21, read, c, b); fails(2, read, c, b + "/none"); fails(2, stat_, c, b + "/none"); fails(20, ls, c, b + "/link"); fails(20, ls, c, b + "/f")
        write(c, b + "/link", b"new"); assert not os.path.islink(b + "/link") and open(b + "/f").read() == "hello"  # a link is replaced, not followed
        fails(21, write, c, b + "/n", b"x"); fails(2, write, c, b + "/no/f", b"x"); fails(21, write, c, b + "/", b"x")
        c.simple(0x38, s(b + "/f") + s(b + "/g")); assert open(b + "/g").read() == "hello"; fails(2, c.simple, 0x38, s(b + "/f") + s(b + "/g"))
        c.simple(0x34, s(b + "/g") + b"\0"); c.simple(0x34, s(b + "/g") + b"\0"); c.simple(0x34, s(b + "/dangling") + b"\0"); fails(39, c.simple, 0x34, s(b + "/n") + b"\0")
        c.simple(0x34, s(b + "/n") + b"\1"); assert not os.path.exists(b + "/n"); os.symlink("/etc", b + "/etc"); c.simple(0x34, s(b) + b"\1"); assert not os.path.exists(b) and os.path.exists("/etc/passwd")
        assert read(c, "/proc/version")[1].startswith(b"Linux")
        assert not [f for f in os.listdir(d.dir) if "holdfast" in f]


def test_unfinished_write_leaves_nothing():
    with Daemon() as d, d.client() as c:
        os.mkdir(d.dir + "/w")
        k = c.request(0x33, s(d.dir + "/w/f") + struct.pack("<HB", 0o644, 0)); c.opened(k); c.send(INPUT, k, b"half"); c.send(DETACH, k); c.expect(k, INPUT_CREDIT); c.expect(k, DONE); assert os.listdir(d.dir + "/w") == []
        k = c.request(0x33, s(d.dir + "/w/f") + struct.pack("<HB", 0o644, 0)); c.opened(k); c.send(INPUT, k, b"half"); c.expect(k, INPUT_CREDIT); assert len(os.listdir(d.dir + "/w")) == 1
        c.close(); wait_for(lambda: os.listdir(d.dir + "/w") == [])
        with d.client() as c:
            k = c.request(0x33, s(d.dir + "/w/f") + struct.pack("<HB", 0o644, 0)); credit, _ = c.opened(k)
            for _ in range(credit // 262139 + 1): c.send(INPUT, k, bytes(262139))
            assert read(c, "/proc/version")  # it is written as it comes, and granted again


def test_big_directory_and_removal():
    with Daemon() as d, d.client() as c, d.client() as o:
        b = d.dir + "/w"; os.mkdir(b)
        for i in range(20000): open(f"{b}/{'n' * 200}{i}", "w").close()
        k = c.request(0x31, s(b)); time.sleep(0.5); assert d.rss() < 3000, d.rss()  # nobody reads: it waits
        t = time.time(); o.call("true"); assert time.time() - t < 2
        n = 0
        while c.on(k)[0] != DONE: n += 1
        assert n == 20000
        p = b
        for i in range(300): p += "/dddddddd"; os.mkdir(p)
        c.simple(0x34, s(b) + b"\1"); assert not os.path.exists(b)
        k = c.request(0x32, s("/dev/zero") + struct.pack("<QQI", 0, 0, BIG))
        assert c.on(k)[0] == FAILED


def test_read_credit():
    with Daemon() as d, d.client() as c:
        open(d.dir + "/f", "wb").write(b"0123456789" * 20000); k = c.request(0x32, s(d.dir + "/f") + struct.pack("<QQI", 0, 0, 7)); c.opened(k); assert c.expect(k, OUTPUT)[1:] == b"0123456"
        c.send(CREDIT, k, struct.pack("<I", 5)); assert c.expect(k, OUTPUT)[1:] == b"78901"; c.send(DETACH, k); c.expect(k, DONE)
        fds = d.fds(); k = c.request(0x36, s("/usr/lib") + struct.pack("<I", 1000)); c.opened(k); n = 0
        while n < 1000: n += len(c.expect(k, OUTPUT)) - 1
        assert n == 1000; c.send(DETACH, k); c.expect(k, DONE); assert d.fds() == fds


def nasty(b):
    os.mkdir(b); rnd = random.Random(1)
    for name, data, mode in [("empty", b"", 0o644), ("exe", b"#!/bin/sh\n", 0o755), ("b512", b"x" * 512, 0o600), ("b513", b"x" * 513, 0o444), ("big", rnd.randbytes(3_000_000), 0o640), ("none", b"q", 0o000),
                             ("n" * 255, b"long", 0o644), ("new\nline", b"n", 0o644), ("quote'\"$(x)", b"q", 0o644), ("-rf", b"d", 0o644), ("é\udcff".encode("utf8", "surrogateescape").decode("utf8", "surrogateescape"), b"u", 0o644), (" sp ", b"s", 0o644), ("=eq=", b"s", 0o644)]:
        open(b + "/" + name, "wb").write(data); os.chmod(b + "/" + name, mode); os.utime(b + "/" + name, (1, 1234567890 + len(name)))
    deep = b
    for i in range(12): deep += "/" + "d%d" % i * 10; os.mkdir(deep); open(deep + "/file", "w").write(str(i))
    os.mkdir(b + "/emptydir", 0o700); os.mkdir(b + "/ro"); open(b + "/ro/f", "w").write("x"); os.chmod(b + "/ro", 0o555); os.utime(b + "/ro", (5, 5))
    os.symlink("exe", b + "/rel"); os.symlink("/etc/passwd", b + "/abs"); os.symlink("../../..", b + "/up"); os.symlink("x" * 300, b + "/longlink"); os.symlink("nowhere", b + "/dangling"); os.symlink(".", b + "/loop")
    os.mkfifo(b + "/fifo"); sk = socket.socket(socket.AF_UNIX); cwd = os.getcwd(); os.chdir(b); sk.bind("sock"); os.chdir(cwd); sk.close()
    os.utime(b + "/rel", (9, 99), follow_symlinks=False); os.utime(b + "/emptydir", (7, 7))


def snapshot(b):
    out = {}
    for root, ds, fs in os.walk(os.fsencode(b)):
        for n in ds + fs:
            p = os.path.join(root, n); st = os.lstat(p); rel = os.path.relpath(p, os.fsencode(b))
            if os.path.islink(p): out[rel] = ("l", os.readlink(p), int(st.st_mtime))
            elif os.path.isdir(p): out[rel] = ("d", st.st_mode & 0o7777, int(st.st_mtime))
            elif os.path.isfile(p): out[rel] = ("f", st.st_mode & 0o7777, int(st.st_mtime), hl.md5(open(p, "rb").read()).hexdigest())
    return out


def test_tar_round_trip():
    with Daemon() as d, d.client() as c:
        nasty(d.dir + "/a"); want = snapshot(d.dir + "/a"); data = tar_out(c, d.dir + "/a"); assert len(data) % 512 == 0
        tar_in(c, d.dir + "/b", data); got = snapshot(d.dir + "/b"); assert got == want, {k: (want.get(k), got.get(k)) for k in set(want) | set(got) if want.get(k) != got.get(k)}
        tar_in(c, d.dir + "/b", data); assert snapshot(d.dir + "/b") == want  # over what is there
        open(d.dir + "/x.tar", "wb").write(data); os.mkdir(d.dir + "/c"); subprocess.check_call(["tar", "-xpf", d.dir + "/x.tar", "-C", d.dir + "/c"]); assert snapshot(d.dir + "/c") == want  # GNU tar reads it
        for fmt in ("gnu", "pax", "ustar"):
            shutil.rmtree(d.dir + "/c"); names = [n for n in os.listdir(d.dir + "/a") if fmt != "ustar" or (len(n) < 100 and n != "longlink")]
            subprocess.run(["tar", f"--format={fmt}", "--exclude=fifo", "-cf", d.dir + "/y.tar", "-C", d.dir + "/a", "--", *[("./" + n) for n in names if n not in ("sock",) and (fmt != "ustar" or not n.startswith("d0"))]], check=True, stderr=subprocess.DEVNULL)
            tar_in(c, d.dir + "/c", open(d.dir + "/y.tar", "rb").read()); got = snapshot(d.dir + "/c"); bad = {k: (want[k], v) for k, v in got.items() if want[k] != v}; assert not bad and len(got) > 15, (fmt, bad)
        k = c.request(0x36, s(d.dir + "/a") + struct.pack("<I", 0)); c.opened(k); parts = []; total = 0
        rnd = random.Random(3)
        while total < len(data):
            n = rnd.choice([1, 100, 511, 70000, 300000]); c.send(CREDIT, k, struct.pack("<I", n)); want_n = min(n, len(data) - total)
            while want_n: p = c.expect(k, OUTPUT)[1:]; parts.append(p); want_n -= len(p); total += len(p)
        c.expect(k, DONE); assert b"".join(parts) == data
        k = c.request(0x37, s(d.dir + "/e")); credit, _ = c.opened(k); small = data[:30000]
        for i in range(0, len(small), 7): c.send(INPUT, k, small[i:i + 7])
        c.send(INPUT_END, k)
        while (t := c.on(k)[0]) == INPUT_CREDIT: pass
        assert t == FAILED  # cut off
        m = {}; buf = io.BytesIO(); t = tarfile.open(fileobj=buf, mode="w"); i = tarfile.TarInfo("h1"); i.size = 3; t.addfile(i, io.BytesIO(b"abc")); i = tarfile.TarInfo("sub/h2"); i.type = tarfile.LNKTYPE; i.linkname = "h1"; t.addfile(i); t.close()
        tar_in(c, d.dir + "/h", buf.getvalue()); assert os.stat(d.dir + "/h/sub/h2").st_ino == os.stat(d.dir + "/h/h1").st_ino
        assert not d.children()


def archive(*entries):
    buf = io.BytesIO(); t = tarfile.open(fileobj=buf, mode="w", format=tarfile.PAX_FORMAT)
    for name, type, link, data in entries: i = tarfile.TarInfo(name); i.type = type; i.linkname = link; i.size = len(data); i.mode = 0o7755; t.addfile(i, io.BytesIO(data))
    t.close(); return buf.getvalue()


def test_hostile_archives():
    F, D, L, H = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
    with Daemon() as d, d.client() as c:
        out = d.dir + "/out"; os.mkdir(out); victim = out + "/victim"; open(victim, "w").write("safe"); n = [0]
        def bad(errno, *entries):
            n[0] += 1; where = d.dir + "/in%d" % n[0]; fails(errno, tar_in, c, where, archive(*entries)); assert os.listdir(out) == ["victim"] and open(victim).read() == "safe"
        bad(1, ("../evil", F, "", b"x")); bad(1, ("a/../../evil", F, "", b"x")); bad(1, (out + "/evil", F, "", b"x")); bad(1, ("..", D, "", b"")); bad(1, ("a/..", F, "", b"x"))
        bad(20, ("l", L, out, b""), ("l/evil", F, "", b"x")); bad(20, ("l", L, "../out", b""), ("l/evil", F, "", b"x")); bad(20, ("l", L, "..", b""), ("l/out/evil", D, "", b"")); bad(20, ("l", L, out, b""), ("l", D, "", b""))
        bad(1, ("h", H, victim, b"")); bad(1, ("h", H, "../out/victim", b"")); bad(20, ("l", L, out, b""), ("h", H, "l/victim", b"")); bad(2, ("h", H, "none", b"")); bad(95, ("dev", tarfile.CHRTYPE, "", b"")); bad(95, ("ff", tarfile.FIFOTYPE, "", b""))
        bad(21, (".", F, "", b"x")); bad(21, ("d", D, "", b""), ("d", F, "", b"x"))
        tar_in(c, d.dir + "/ok", archive(("l", L, victim, b""), ("l", F, "", b"new"), ("x/y/z", F, "", b"z"), (".", D, "", b""), ("./q", F, "", b"q"))); assert open(d.dir + "/ok/l").read() == "new" and open(victim).read() == "safe"
        assert os.stat(d.dir + "/ok/q").st_mode & 0o7777 == 0o1755 & 0o1777  # no set-uid
        rnd = random.Random(5); good = archive(("a", F, "", b"x" * 600), ("b" * 150, F, "", b"y"), ("d/", D, "", b""))
        for i in range(400):
            data = bytearray(good)
            for _ in range(rnd.randint(1, 4)): data[rnd.randrange(len(data))] = rnd.randrange(256)
            try: tar_in(c, d.dir + "/fz", bytes(data[:rnd.randrange(len(data))] if i % 3 == 0 else data))
            except Failed: pass
        for junk in (b"", b"x", bytes(511), os.urandom(5120)): fails(22, tar_in, c, d.dir + "/j", junk)
        tar_in(c, d.dir + "/j", bytes(512)); assert d.fds() < 20 and d.rss() < 2000, (d.fds(), d.rss())
        fails(20, tar_in, c, "/etc/passwd", b""); fails(20, tar_out, c, "/etc/passwd"); fails(2, tar_out, c, "/nonexistent")


def test_file_speed():
    with Daemon() as d, d.client() as c:
        data = bytes(200_000_000); t = time.time(); write(c, "/dev/shm/hfd-speed", data); t1 = time.time() - t; t = time.time(); k = c.request(0x32, s("/dev/shm/hfd-speed") + struct.pack("<QQI", 0, 0, BIG)); c.opened(k); n = 0
        while True:
            ty, p = c.on(k)
            if ty == DONE: break
            n += len(p) - 1
        print(f"     200 MB in {t1:.2f} s = {200 / t1:.0f} MB/s, out {time.time() - t:.2f} s (Python client)"); assert n == len(data); os.unlink("/dev/shm/hfd-speed")
