# Python's subprocess.run starting the tiny program and collecting both of its streams, timed in
# here so that the start of Python itself does not count. Usage: peer_python.py MB TINY
import subprocess
import sys
import time

ballast = bytearray(int(sys.argv[1]) << 20)
for i in range(0, len(ballast), 4096):
    ballast[i] = 1
tiny = [sys.argv[2]]

for line in sys.stdin:
    name, ms = line.split()
    end = time.perf_counter() + float(ms) / 1e3
    samples = []
    while name == "spawn":
        start = time.perf_counter()
        done = subprocess.run(tiny, capture_output=True)
        now = time.perf_counter()
        if done.stdout != b"ok\n" or done.returncode != 0:
            samples = []
            break
        samples.append((now - start) * 1e6)
        if now >= end:
            break
    samples.sort()
    print(samples[len(samples) // 2] if samples else -1, flush=True)
