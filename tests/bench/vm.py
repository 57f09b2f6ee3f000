"""Guests of QEMU: how many of their requests are found on the host, and how exactly their clock is, with each way that QEMU
has to do them; a row is a boot and half a minute."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import sys

# SCI_BENCH_ROWS: "format cache aio threads [what the guest's kernel is told]" between semicolons, in place of all
SRC = os.environ["SCI_SRC"]
ROWS = [tuple(row.split(None, 4)) for row in os.environ.get("SCI_BENCH_ROWS", "").split(";") if row.strip()] or \
    [(form, cache, aio, threads) for form in ("raw", "qcow2")
     for cache, aio in (("none", "threads"), ("none", "native"), ("none", "io_uring"), ("writeback", "threads"),
                        ("writeback", "io_uring"))  # native needs O_DIRECT
     for threads in ("1", "4")] + \
    [("raw", "none", "threads", "1", f"wait=60 clocksource={clock}") for clock in ("tsc", "hpet")]
CASE = os.path.join(SRC, "tests/cases/kernel-vm-guest.py")
# merges in pairs with those of both inputs by themselves
PAIRS = "9"
MERGED = re.compile(r"merged: (\S+) times the CPU time of both apart; (\d+) MiB, the host's alone (\d+) MiB")
MEASURED = re.compile(r"measured: (\d+) of (\d+) requests; O_DIRECT (\d+) of (\d+) calls complete; clock \+-(\d+) us, "
                      r"the truth inside, \+-(\d+) us; rate (\S+) ppm, truth (\S+) \+-(\S+) ppm")


def main():
    print(f"{'image':7} {'cache':10} {'aio':9} {'threads':7}  {'requests found':16} {'O_DIRECT complete':18} {'clock':>9}"
          f"  {'truth inside':>12}  {'merge, memory':>20}  rate", flush=True)
    failed = 0
    for form, cache, aio, threads, *kernel in ROWS:
        environment = dict(os.environ, SCI_GUEST_FORMAT=form, SCI_GUEST_CACHE=cache, SCI_GUEST_AIO=aio, SCI_GUEST_THREADS=threads,
                           SCI_GUEST_KERNEL=" ".join(kernel), SCI_GUEST_PAIRS=PAIRS)
        done = subprocess.run(["/usr/bin/python3", CASE], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 77:
            sys.exit("skipped: " + done.stdout.strip().splitlines()[-1])
        found, merged = MEASURED.search(done.stdout), MERGED.search(done.stdout)
        row = f"{form:7} {cache:10} {aio:9} {threads:>7}  "
        if done.returncode or not found or not merged:
            failed += 1
            print(row + "failed: " + done.stdout.strip().splitlines()[-1], flush=True)
            continue
        requests, of, calls, of_calls, clock, truth, ppm, true_ppm, error = found.groups()
        rate = f"  {ppm} ppm, truth {true_ppm} +-{error} ({kernel[0]})" if kernel else ""
        print(f"{row}{requests + ' of ' + of:16} {calls + ' of ' + of_calls:18} {'+-' + clock + ' us':>9}  {'+-' + truth + ' us':>12}"
              f"  {merged[1] + ' x, ' + merged[2] + ' (' + merged[3] + ') MiB':>20}" + rate, flush=True)
    print("asked: 100 % of the requests and calls; +-100 us from 500 requests; the rate to 1 ppm after 60 s;"
          " merging at most 1.5 times the CPU time of both apart (in brackets the memory for the host alone)")
    sys.exit(failed != 0)


main()
