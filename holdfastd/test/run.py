"""Runs the tests: python3 test/run.py [part of a name]…   HOLDFASTD=path of the binary."""
import faulthandler, glob, importlib, os, sys, time, traceback
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
wanted, failed, count = sys.argv[1:], [], 0
for path in sorted(glob.glob(os.path.join(sys.path[0], "test_*.py"))):
    module = importlib.import_module(os.path.basename(path)[:-3])
    for name, fn in list(vars(module).items()):
        full = module.__name__ + "." + name
        if not name.startswith("test_") or (wanted and not any(w in full for w in wanted)): continue
        count += 1; t = time.time(); faulthandler.dump_traceback_later(150, exit=True)
        try: fn(); print(f"ok   {full} {time.time() - t:.2f}s", flush=True)
        except Exception: failed.append(full); print(f"FAIL {full}"); traceback.print_exc(); sys.stdout.flush()
print(f"{count - len(failed)} of {count} passed"); print(*failed, sep="\n")
sys.exit(bool(failed))
