"""What it costs to analyse the recordings of several machines by several processes: CPU time, events, what is sent, memory;
and to link them. Processes beyond the CPUs of this machine take turns: what they would take on CPUs of their own is a
model, CPU time of the slowest and what is sent at SCI_BENCH_BANDWIDTH bytes a second."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["SCI_BUILD"]
MPI = os.path.join(BUILD, "src/sci-analyze-mpi")
EVENTS = int(os.environ.get("SCI_BENCH_EVENTS", 40_000_000))
BANDWIDTH = float(os.environ.get("SCI_BENCH_BANDWIDTH", 1e9))
RUNS = int(os.environ.get("SCI_BENCH_RUNS", 3))
ENV = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "SCI_MPI_FIGURES": "figures"}
NAMES = "events", "cpu", "sent", "results", "aside", "memory", "company", "shared", "handed", "divided", "swept"


def skip(why):
    sys.exit("skipped: " + why)


if not os.path.exists(MPI) or not shutil.which("mpirun"):
    skip("built without MPI, or there is no mpirun")
OVER = ["--oversubscribe"] if b"Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True).stdout else []


def generate(folder, machines, threads, events):
    """DIR/nodeN of that many THREADS and EVENTS, which are lists."""
    for i in range(machines):
        node = os.path.join(folder, f"node{i}")
        os.makedirs(node)
        subprocess.run([BUILD + "/tests/bench/bench-generate", f"--events={events[i]}", f"--threads={threads}", "--attributes",
                        f"--host=node{i}", f"--output={node}/unified.otf2"], check=True, stdout=subprocess.DEVNULL)


def timed(*words):
    """Seconds and CPU seconds of a command."""
    before, at = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
    took, after = time.monotonic() - at, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_mpi(processes, trace):
    """Seconds, and of each rank {name: figure}."""
    if os.path.exists("figures"):
        os.remove("figures")
    took, _ = timed("mpirun", *OVER, "-n", str(processes), MPI, trace)
    with open("figures") as lines:
        rows = sorted([float(n) for n in re.findall(r"[\d.]+", line)] for line in lines)
    return took, [dict(zip(NAMES, row[1:])) for row in rows]


def median(values):
    return sorted(values)[len(values) // 2]


def worst(ranks, name):
    return max(rank[name] for rank in ranks) / (sum(rank[name] for rank in ranks) / len(ranks))


def processes():
    """P = 1, 2, 4, 8 of 8 uneven machines, of one large machine beside small ones, and of one alone."""
    for machines, parts in (("8 uneven machines", [(12 - i) / 68 for i in range(8)]), ("one large machine beside 7", [0.65] + 7 * [0.05]),
                            ("1 machine", [1])):
        of_machines(machines, 1024 // len(parts), [int(EVENTS * part) for part in parts])
    print("asked: CPU s 1.1 of one at 8; most events 1.2 of the mean; 70 B of an operation that is handed over; 64 MiB of memory")


def of_machines(machines, threads, parts):
    """P = 1, 2, 4, 8 of machines with that many events."""
    generate("uneven", len(parts), threads, parts)
    timed("sci-analyze", "--threads=1", "uneven")
    print(f"{machines}, 1024 threads, {sum(parts) / 1e6:.0f} M events; medians of {RUNS}")
    print(f"{'':24}{'CPU s':>7}{'of one':>8}{'most events':>13}{'sent: classes':>15}{'results':>11}{'handed over':>13}{'each':>8}{'put aside':>11}"
          f"{'memory':>10}{'measured':>10}{'model':>8}")
    rounds = {n: [] for n in (0, 1, 2, 4, 8)}
    for _ in range(RUNS):
        for n, of in rounds.items():
            if n:
                of.append(by_mpi(n, "uneven"))
            else:
                took, cpu = timed("sci-analyze", "--threads=1", "uneven")
                of.append((took, [{"cpu": cpu}]))
    for n, of in rounds.items():
        # in each round against the one process of that round: the machine may be faster in another
        cpus = [sum(rank["cpu"] for rank in ranks) for _, ranks in of]
        took, cpu = median([took for took, _ in of]), median(cpus)
        ratio = median([cpu / alone[0]["cpu"] for cpu, (_, alone) in zip(cpus, rounds[0])])
        if not n:
            print(f"{'sci-analyze --threads=1':24}{cpu:7.2f}{ratio:8.2f}{'':81}{took:8.2f} s")
            continue
        ranks = of[-1][1]
        results, sent, handed, divided = (sum(rank[name] for rank in ranks) for name in ("results", "sent", "handed", "divided"))
        model = max(rank["cpu"] for rank in ranks) + sent / BANDWIDTH
        measured = f"{took:.2f} s" if n <= os.cpu_count() else "-"
        print(f"{f'{n} processes':24}{cpu:7.2f}{ratio:8.2f}{worst(ranks, 'events'):13.2f}{(sent - results - handed) / 1024:11.0f} KiB"
              f"{results / 1024:7.0f} KiB{handed / 1e6:10.1f} MB{handed / divided if divided else 0:6.1f} B{sum(rank['aside'] for rank in ranks) / 1e6:8.0f} MB"
              f"{max(rank['memory'] for rank in ranks) / 1024:6.0f} MiB{measured:>10}{model:6.2f} s", flush=True)
        if n == 8:
            for at, rank in enumerate(ranks):
                print(f"  rank {at}: {rank['events'] / 1e6:.1f} M events, {rank['cpu']:.2f} CPU s, {rank['sent'] / 1024:.0f} KiB sent, "
                      f"{rank['aside'] / 1e6:.0f} MB put aside, {rank['memory'] / 1024:.0f} MiB")
    shutil.rmtree("uneven")


def memory():
    """64 processes."""
    generate("wide", 64, 256, [100_000] * 64)
    took, ranks = by_mpi(64, "wide")
    print(f"64 machines, 16384 threads, by 64 processes: {max(rank['memory'] for rank in ranks[1:]) / 1024:.0f} MiB of memory each at most, "
          f"rank 0 {ranks[0]['memory'] / 1024:.0f} MiB; {took:.0f} s, taking turns (asked: 128 MiB)", flush=True)
    shutil.rmtree("wide")


def link():
    """10 and 100 M events."""
    for events in 10, 100:
        generate("linked", 64, 16, [events * 1_000_000 // 64] * 64)
        took = median([timed("sci-merge",  "--link", "linked", "-o", "linked/unified.otf2")[0] for _ in range(3)])
        print(f"sci-merge --link, 64 machines, 1024 threads, {events} M events: {took:.2f} s (asked: 2, and the same for both)",
              flush=True)
        shutil.rmtree("linked")


def company():
    """Operations on one file of several machines, by one to eight processes: clocks that are known to 1 us, and to 1 ms."""
    calls = 40_000
    lines = "".join(f"{node} {thread} {at} {at + 8000} 7\n" for node in range(8) for thread in range(1, 5)
                    for at in (1_000_000_000 + call * 20_000 + 1000 * (3 * node + thread) for call in range(calls)))
    for error in 1000, 1_000_000:
        subprocess.run([BUILD + "/tests/programs/make-calls", ".", str(error // 2), "nfs server:/export"], input=lines, text=True,
                       check=True)
        os.mkdir("shared")
        for node in range(8):
            os.rename(f"node{node}", f"shared/node{node}")
        for n in 2, 4, 8:
            took, ranks = by_mpi(n, "shared")
            sent, operations = (sum(rank[name] for rank in ranks) for name in ("company", "shared"))
            print(f"8 machines, {operations / 1e6:.2f} M operations on one file, clocks to {error / 1000:.0f} us, {n} processes: "
                  f"{sent / operations:.1f} bytes of company an operation in all, {sent / operations / n:.1f} by each (asked: 32); "
                  f"{took:.1f} s", flush=True)
        shutil.rmtree("shared")


def tracing():
    """Four ranks on this node, each by sci-record, against all of them by one."""
    sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
    import unified
    write = "dd if=/dev/zero of=rank.$OMPI_COMM_WORLD_RANK bs=4096 count=20000 oflag=direct 2>dd.err || cat dd.err"
    forms = {"each": ["mpirun", *OVER, "-n", "4", "sci-record", "-q", "-o", "each", "--", "sh", "-c", write],
             "one": ["sci-record", "-q", "-o", "one", "--", "mpirun", *OVER, "-n", "4", "sh", "-c", write]}
    took, requests = {name: [] for name in forms}, {}
    for _ in range(RUNS):
        for name, words in forms.items():
            took[name].append(timed(*words)[0])
            node = [path for path, _, files in os.walk(name) if "unified.otf2" in files and path != name] or [name]
            found = unified.read(os.path.join(node[0], "unified.otf2"))
            requests[name] = sum(sum(thread["written"].values()) for thread in found["threads"].values())
            shutil.rmtree(name)
    each, one = median(took["each"]), median(took["one"])
    print(f"4 ranks, 80000 direct writes: {each:.2f} s by a sci-record for each, {one:.2f} s by one around mpirun: {each / one:.2f} "
          f"(asked: 1.1); requests {requests['each']} and {requests['one']} (asked: equal)", flush=True)


with tempfile.TemporaryDirectory(dir=os.environ.get("SCI_BENCH_DIR")) as work:
    os.chdir(work)
    for part in os.environ.get("SCI_BENCH_PARTS", "processes memory link company tracing").split():
        {"processes": processes, "memory": memory, "link": link, "company": company, "tracing": tracing}[part]()
    os.chdir("/")
