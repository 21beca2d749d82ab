"""Runs bench.c (built to /tmp/bench) against a fresh daemon."""
from client import *
import sys
with Daemon() as d:
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3): print(subprocess.run(["/tmp/bench", d.path, d.secret.hex(), "1500"], capture_output=True, text=True).stdout, end="")
    print("rss", d.rss(), "kB")
