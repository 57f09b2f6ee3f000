# ./dev demo vm: two guests on one disk, traced inside and outside, become one trace; who slows the first one is the other.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, Guest, limited_images, make_initrd, need_guests, run, run_guests
from kernel import scratch

need_guests()
make_initrd("vm-score-init")
os.chdir(scratch)
group = limited_images(250)
guests = [Guest("a", "reads=1200 threads=1", group), Guest("b", "reads=400 threads=4", group)]


def show(*command):
    print("\n$", *command, flush=True)
    done = run(os.path.join(BUILD, "src", command[0]), *command[1:])
    print(done.stderr + done.stdout, end="", flush=True)


print("guest-a reads with one thread, guest-b with four, from one disk that takes 250 reads in a second\n"
      "in each guest: sci-kernel -o /out/guest -- reader")
print("\n$ sci-kernel --vm=" + ",".join(guest.name for guest in guests), "-o host", flush=True)
spools = run_guests(guests)
show("sci-merge", "host/kernel.spool", *spools, "-o", "all.otf2")
show("sci-analyze", "all.otf2", "--filter=host=guest-a")
