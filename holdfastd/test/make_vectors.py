"""Writes vectors.json, frames with their meaning for both ends' tests, and the seeds of the fuzzer."""
import hashlib, hmac, json, os, struct, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import frame, s, lst

here = os.path.dirname(os.path.abspath(__file__))
secret, cn, dn = bytes(range(32)), bytes(range(100, 132)), bytes(range(200, 232))
dp, cp = hmac.new(secret, b"daemon" + cn + dn, hashlib.sha256).digest(), hmac.new(secret, b"client" + dn + cn, hashlib.sha256).digest()
P = struct.pack
frames = []


def add(side, name, type, channel, payload=b"", **fields):
    frames.append({"from": side, "name": name, "type": type, "channel": channel, "fields": fields, "hex": frame(type, channel, payload).hex()})


start = dict(kind=0, flags=1, timeout=180000, grace=2000, credit=262144, rows=0, cols=0, cap="0", cwd="/workspace", state="/tmp/session", processName="", shown="echo hé", argv=["bash", "-c", "echo hé"], env=["PATH=/usr/bin:/bin", "EMPTY="])
def start_payload(f): return P("<BBIIIHHQ", f["kind"], f["flags"], f["timeout"], f["grace"], f["credit"], f["rows"], f["cols"], int(f["cap"])) + s(f["cwd"]) + s(f["state"]) + s(f["processName"]) + s(f["shown"]) + lst(f["argv"]) + lst(f["env"])
server = dict(start, kind=1, flags=6, timeout=0, rows=24, cols=80, cap="10485760", cwd="", state="", processName="server", shown="sleep 3600", argv=["sleep", "3600"], env=[])

add("client", "HELLO", 0x01, 0, b"HFD\x01" + cn, nonce=cn.hex())
add("daemon", "HELLO", 0x81, 0, b"\x01" + dn + dp, version=1, nonce=dn.hex(), proof=dp.hex())
add("client", "PROOF", 0x02, 0, cp + s("holdfast 1234"), proof=cp.hex(), label="holdfast 1234")
add("daemon", "READY", 0x82, 0, P("<I", 4321) + s("holdfastd 1 (protocol 1)"), pid=4321, build="holdfastd 1 (protocol 1)")
add("client", "START", 0x10, 1, start_payload(start), **start)
add("client", "START", 0x10, 2, start_payload(server), **server)
add("daemon", "STARTED", 0x90, 1, P("<II", 77, 65536) + s(""), pid=77, inputCredit=65536, processId="")
add("daemon", "STARTED", 0x90, 2, P("<II", 78, 0) + s("p_0badcafe"), pid=78, inputCredit=0, processId="p_0badcafe")
add("daemon", "OUTPUT", 0x91, 1, b"\x02\x00\xff\n", stream=2, bytes="00ff0a")
add("client", "INPUT", 0x11, 1, b"\x00abc", bytes="00616263")
add("client", "INPUT_END", 0x12, 1)
add("client", "CREDIT", 0x13, 1, P("<I", 4294967295), bytes=4294967295)
add("client", "KILL", 0x14, 1, P("<I", 2000), grace=2000)
add("client", "SIGNAL", 0x15, 1, b"\x0f", signal=15)
add("client", "RESIZE", 0x16, 1, P("<HH", 50, 132), rows=50, cols=132)
add("client", "DETACH", 0x17, 1)
add("daemon", "INPUT_CREDIT", 0x93, 1, P("<I", 65536), bytes=65536)
add("daemon", "ENDED", 0x92, 1, b"\x03\x00\x00\x01" + s(b"cwd=/\x00") + s(""), code=3, signal=0, cause=0, saved=1, report="6377643d2f00", reason="")
add("daemon", "ENDED", 0x92, 1, b"\x00\x09\x01\x02" + s("") + s("cannot write the state: No space left on device"), code=0, signal=9, cause=1, saved=2, report="", reason="cannot write the state: No space left on device")
add("daemon", "DONE", 0x95, 4294967295)
add("daemon", "FAILED", 0x9F, 1, P("<I", 2) + s("cannot run nonexistent: No such file or directory"), errno=2, message="cannot run nonexistent: No such file or directory")
add("client", "PROCESSES", 0x20, 3)
add("daemon", "PROCESS", 0xA0, 3, s("p_0badcafe") + s("server") + P("<IBBBBBBQQQ", 78, 1, 0, 15, 2, 1, 0, 1700000000000, 1700000001000, 5000000000) + s("sleep 3600"), id="p_0badcafe", processName="server", pid=78, state=1, code=0, signal=15, cause=2, pty=1, input=0, started="1700000000000", ended="1700000001000", bytes="5000000000", command="sleep 3600")
add("client", "READ_LOG", 0x21, 3, s("p_0badcafe") + P("<QBI", 5000000000, 1, 65536), id="p_0badcafe", offset="5000000000", follow=1, credit=65536)
add("daemon", "OPENED", 0x94, 3, P("<IQ", 0, 5000000000), inputCredit=0, offset="5000000000")
add("client", "ATTACH", 0x22, 3, s("p_0badcafe") + P("<HHI", 24, 80, 65536), id="p_0badcafe", rows=24, cols=80, credit=65536)
add("client", "WAIT", 0x23, 3, s("p_0badcafe"), id="p_0badcafe")
add("client", "KILL_PROCESS", 0x24, 3, s("p_0badcafe") + P("<I", 2000), id="p_0badcafe", grace=2000)
add("client", "SIGNAL_PROCESS", 0x25, 3, s("p_0badcafe") + b"\x01", id="p_0badcafe", signal=1)
add("client", "WRITE_PROCESS", 0x26, 3, s("p_0badcafe") + b"\x01yes\n", id="p_0badcafe", end=1, bytes="7965730a")
add("client", "FORGET_PROCESS", 0x27, 3, s("p_0badcafe"), id="p_0badcafe")
add("client", "STAT", 0x30, 3, s("/etc/passwd") + b"\x01", path="/etc/passwd", follow=1)
add("daemon", "ENTRY", 0xB0, 3, s("link") + P("<BIQQ", 3, 0o777, 5, 1700000000123) + s("there"), fileName="link", kind=3, mode=0o777, size="5", modified="1700000000123", target="there")
add("client", "LIST", 0x31, 3, s("/etc"), path="/etc")
add("client", "READ_FILE", 0x32, 3, s("/etc/passwd") + P("<QQI", 10, 0, 65536), path="/etc/passwd", offset="10", limit="0", credit=65536)
add("client", "WRITE_FILE", 0x33, 3, s("/tmp/a/b") + P("<HB", 0o644, 3), path="/tmp/a/b", mode=0o644, flags=3)
add("client", "REMOVE", 0x34, 3, s("/tmp/a") + b"\x01", path="/tmp/a", flags=1)
add("client", "MKDIR", 0x35, 3, s("/tmp/a") + P("<HB", 0o755, 1), path="/tmp/a", mode=0o755, flags=1)
add("client", "TAR_OUT", 0x36, 3, s("/tmp/a") + P("<I", 65536), path="/tmp/a", credit=65536)
add("client", "TAR_IN", 0x37, 3, s("/tmp/a"), path="/tmp/a")
add("client", "RENAME", 0x38, 3, s("/tmp/a") + s("/tmp/b"), **{"from": "/tmp/a", "to": "/tmp/b"})
add("client", "STATUS", 0x40, 3)
add("daemon", "STATUS", 0xC0, 3, P("<QQIIIII", 100000, 0, 600, 1, 1, 2, 1) + s("call echo hé (holdfast 1234)") + P("<I", 1) + s("holdfast 1234") + P("<Q", 99999), uptime="100000", idle="0", idleStop=600, leases=1, calls=1, processes=2, ptys=1, lastUsedFor="call echo hé (holdfast 1234)", labels=[{"label": "holdfast 1234", "connected": "99999"}])
add("client", "IDLE_STOP", 0x41, 3, P("<I", 600), seconds=600)
add("client", "STOP", 0x42, 3, P("<I", 2000), grace=2000)

bad = [("length 4", P("<IB", 4, 0x40) + b"\0\0\0"), ("length 262145", P("<IBI", 262145, 0x40, 3)), ("unknown type", frame(0x99, 3)), ("opener on channel 0", frame(0x40, 0)), ("a field is missing", frame(0x41, 3, b"\0\0\0")), ("a byte too many", frame(0x41, 3, bytes(5))),
       ("a str longer than the frame", frame(0x23, 3, P("<I", 100) + b"p_")), ("a zero byte in a path", frame(0x31, 3, s(b"/a\0b"))), ("a relative path", frame(0x31, 3, s("etc"))), ("a list longer than the frame", frame(0x10, 3, start_payload(start)[:26] + s("") * 4 + P("<I", 4294967295))), ("what is shown is longer than 4,096 bytes", frame(0x10, 3, start_payload(dict(start, shown="x" * 4097)))), ("no argument", frame(0x10, 3, start_payload(dict(start, argv=[])))), ("INPUT that was not granted", frame(0x33, 3, s("/tmp/f") + P("<HB", 0o644, 0)) + b"".join(frame(0x11, 3, bytes(262139)) for _ in range(5)))]
json.dump({"secret": secret.hex(), "clientNonce": cn.hex(), "daemonNonce": dn.hex(), "daemonProof": dp.hex(), "clientProof": cp.hex(), "frames": frames,
           "cutOff": [{"why": w, "hex": b.hex()} for w, b in bad[:-1]]}, open(os.path.join(here, "vectors.json"), "w"), indent=1, ensure_ascii=False)

corpus = os.path.join(here, "..", "fuzz", "corpus")
for f in os.listdir(corpus): os.unlink(os.path.join(corpus, f))
seeds = {f["name"].lower() + ("" if i == 0 else f"-{i}"): b"\x01" + bytes.fromhex(f["hex"]) for i, f in enumerate(frames) if f["from"] == "client"}
seeds["hello"] = b"\x00" + bytes.fromhex(frames[0]["hex"])  # the fuzzer's secret and the daemon's nonce are zeros
seeds["hello-proof"] = seeds["hello"] + frame(0x02, 0, hmac.new(bytes(32), b"client" + bytes(32) + cn, hashlib.sha256).digest() + s("x")) + frame(0x40, 3)
id0 = s("p_00000000"); credit = P("<I", 70000)
seeds["call"] = b"\x13" + frame(0x10, 1, start_payload(start)) + frame(0x40, 9) + frame(0x11, 1, b"abc" * 60) + frame(0x16, 1, P("<HH", 5, 6)) + frame(0x15, 1, b"\x0f") + frame(0x14, 1, P("<I", 1)) + frame(0x12, 1) + frame(0x13, 1, credit)
seeds["process"] = b"\x13" + frame(0x10, 1, start_payload(dict(server, flags=1))) + frame(0x40, 9) * 3 + frame(0x20, 2) + frame(0x22, 3, id0 + P("<HHI", 5, 6, 70000)) + frame(0x11, 3, b"abc") + frame(0x26, 4, id0 + b"\1abc") + frame(0x21, 5, id0 + P("<QBI", 0, 1, 70000)) + frame(0x23, 6, id0) + frame(0x24, 7, id0 + P("<I", 0)) + frame(0x25, 8, id0 + b"\x01") + frame(0x17, 3) + frame(0x27, 8, id0) * 4
for i, (w, b) in enumerate(bad[:-1]): seeds[f"bad-{i}"] = b"\x01" + b
seeds["conversation"] = b"\x05" + b"".join(bytes.fromhex(f["hex"]) for f in frames if f["from"] == "client" and f["channel"] in (1, 2))
import io, tarfile
buf = io.BytesIO(); t = tarfile.open(fileobj=buf, mode="w", format=tarfile.PAX_FORMAT)
for n, ty, ln, d in [("d", tarfile.DIRTYPE, "", b""), ("d/f", tarfile.REGTYPE, "", b"abc"), ("n" * 120, tarfile.REGTYPE, "", b"x"), ("l", tarfile.SYMTYPE, "d/f", b""), ("h", tarfile.LNKTYPE, "d/f", b"")]: i = tarfile.TarInfo(n); i.type = ty; i.linkname = ln; i.size = len(d); t.addfile(i, io.BytesIO(d))
t.close(); data = buf.getvalue()[:9 * 512] + bytes(1024)
seeds["tar-in"] = b"\x01" + frame(0x37, 3, s("/t")) + b"".join(frame(0x11, 3, data[i:i + 700]) for i in range(0, len(data), 700)) + frame(0x12, 3)
seeds["write-file"] = b"\x01" + frame(0x33, 3, s("/t/f") + P("<HB", 0o644, 3)) + frame(0x11, 3, b"abc") + frame(0x12, 3)
seeds["read-and-list"] = b"\x01" + frame(0x32, 3, s("/t") + P("<QQI", 0, 0, 9)) + frame(0x31, 4, s("/")) + frame(0x36, 5, s("/") + P("<I", 600)) + frame(0x13, 5, P("<I", 99999)) + frame(0x17, 5) + frame(0x34, 6, s("/t") + b"\x01")
for n, b in seeds.items(): open(os.path.join(corpus, n), "wb").write(b)
print(len(frames), "frames,", len(seeds), "seeds")
