"""10,000 calls one after another, 100,000 calls in one daemon: no growth of memory, descriptors or zombies."""
from client import *
import sys
N = int(sys.argv[1]) if len(sys.argv) > 1 else 100000


def sizes(d): return f"rss {d.field('VmRSS')} kB, {d.fds()} descriptors, {len(d.children())} children"


with Daemon() as d, d.client() as c:
    c.call(["/bin/true"]); print("start  ", sizes(d)); t = time.time()
    for i in range(10000): e, _, _ = c.call(["/bin/true"]); assert e.code == 0
    print(f"10000 one after another: {(time.time() - t) * 100:.0f} us each;", sizes(d)); t = time.time()
    done = 10000; window = [c.start(["/bin/true"]) for _ in range(32)]
    while done < N:
        k = window.pop(0); c.started(k); e, _, _ = c.finish(k); assert e.code == 0; del c.inbox[k]; done += 1; window.append(c.start(["/bin/true"]))
        if done % 30000 == 0: print(done, sizes(d), flush=True)
    for k in window: c.started(k); c.finish(k)
    time.sleep(0.5); print(f"{N}: {(time.time() - t) / max(1, N - 10000) * 1e6:.0f} us each, 32 at once;", sizes(d))
    zombies = [p for p in os.listdir("/proc") if p.isdigit() and (stat(p) or ("", 0)) == ("Z", d.pid)]; assert not zombies and d.fds() <= 12, zombies
