#!/bin/sh
# sci-plot: each plot, in each form, from what the other commands print; and what it says to misuse.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
[ -z "${SCI_SANITIZED:-}" ] || skip "figures are drawn by the same script as in the normal build"
# its cache of fonts takes long to build, and it says so
MPLCONFIGDIR=$SCI_BUILD/tests/matplotlib /usr/bin/python3 -c 'import matplotlib.font_manager' 2>/dev/null ||
	skip "python3-matplotlib is not installed"
export SCI_PLOT_DIR="$SCI_SRC/src/plot" MPLCONFIGDIR="$SCI_BUILD/tests/matplotlib"
cd "$scratch"

random=$SCI_BUILD/tests/programs/random-trace
"$random" 7 6 one.otf2 scheduler
"$random" 8 3 two.otf2 scheduler
for t in one two; do
	sci-analyze --json $t.otf2 >$t.json
done
sci-analyze --json --sci=paper one.otf2 >paper.json

# drawn PLOT ARGUMENT...: it makes svg and png, the first of each plot a pdf, too; the svg's texts go to
# PLOT.text
drawings=
drawn()
{
	plot=$1
	name=$plot$(echo "$drawings" | wc -w)
	drawings="$drawings $name"
	if [ ! -e "$plot.text" ]; then
		set -- "$@" -o "$name.pdf"
	fi
	status 0 sci-plot "$@" -o "$name.svg" -o "$name.png" --title "Title of $plot"
	[ ! -s err ] || fail "$plot: $(cat err)"
	sed -n 's/.*<text[^>]*>\([^<]*\)<.*/\1/p' "$name.svg" >"$plot.text"
	has "$plot.text" "^Title of $plot\$"
}

drawn levels one.json
has levels.text '^Interference \('
has levels.text '^block$'
sci-analyze --json=1 one.otf2 >before.json
drawn levels before.json
cmp levels0.svg "$name.svg" || fail "version 1 of the report is drawn otherwise"
# a limit takes what waiting for a CPU did
sci-export -q one.otf2 -o one.paje
sed 's/"cpu:run queue"/"cpu:quota"/' one.paje >limited.paje
sci-analyze --json limited.paje >limited.json
drawn levels limited.json
has levels.text '^own limit$'
has levels.text '^Interference and own limit \('
drawn compare one.json limited.json
has compare.text '^own limit$'
sci-analyze --timeline=3 --csv limited.paje >limited.csv
drawn timeline limited.csv
has timeline.text '^own limit$'
# json is drawn as csv is
cp timeline.text csv.text
sci-analyze --timeline=3 --json limited.paje >limited.json
drawn timeline limited.json
cmp timeline.text csv.text || fail "json is drawn in another way than csv"
drawn levels paper.json --of=io --top=2
has levels.text '^Time in I/O \('
has levels.text '^2 of [3-6] threads$'
drawn blame one.json --top=3
has blame.text '^Slowed thread$'
has blame.text ' more$'
drawn compare one.json two.json --names=before,after --per-operation
has compare.text '^before$'
has compare.text '^SCI of each thread$'

# 40 threads, and names that are long, alike, of letters that mean something to matplotlib or have no glyph
/usr/bin/python3 - <<'END'
import copy
import json
report = json.load(open("one.json"))
thread = max(report["threads"], key=lambda t: len(t["blame"]))
report["threads"] = [dict(copy.deepcopy(thread), location=i, name="simulation-" * 7 + "of weather",
                          levels={"vfs": 10 ** (i // 8)}, interference_levels={"fs": 10 ** (i // 8)})
                     for i in range(40)]
for i, name in enumerate(["_hidden", "$a_b$", "two\nlines", "\u65e5 \ud800"]):
    report["threads"][i]["name"] = name
    report["threads"][i]["blame"] = [{"tid": i + 1, "name": name, "culprits": 1, "ns": 1000 ** i}]
json.dump(report, open("awkward.json", "w"))
END
drawn levels awkward.json --top=0
has levels.text '^simulat….*-of weather \(1\)$'
has levels.text '^simulat….*-of weather \(36\)$'
has levels.text '^ _hidden$'
# shellcheck disable=SC2016 # the dollars are the name's
has levels.text '^\$a_b\$$'
has levels.text '^two�lines$'
has levels.text '^� �$'
drawn levels awkward.json --top=4 --width=85
drawn blame awkward.json --top=0
drawn compare one.json awkward.json --names="_one of the two with a name that is as long as a sentence,_one of the two"
mkdir a b
cp one.json a/report.json
cp two.json b/report.json
drawn compare a/report.json b/report.json --width=85
has compare.text '^a/report.json$'
has compare.text '^b/report.json$'

cat >timeline.csv <<'END'
from_ns,to_ns,operations,io_ns,lost_ns,interference_ns,at_user_ns,at_vfs_ns,at_pagecache_ns,at_fs_ns,at_block_ns,at_cpu_ns
0,1000000,5,900000,500000,400000,-20000,0,120000,300000,0,0
1000000,2000000,5,1900000,1500000,1400000,0,0,100000,1300000,0,0
END
drawn timeline timeline.csv
has timeline.text '^Threads held up$'
has timeline.text '^Time \(ms\)$'
sed 's/,5,900000.*/,0,0,0,0,0,0,0,0,0,0/; s/,5,1900000.*/,5,1900000,0,0,0,0,0,0,0,0/' timeline.csv >quiet.csv
drawn timeline quiet.csv --width=85
has timeline.text '^no time was lost$'

cat >addresses.csv <<'END'
host,pid,tid,thread,level,region,depth,begin_ns,end_ns,size,offset,dev,inode,path,ret,who,truncated
vm,1,1,"a, b",user,pread64,0,100,200,4096,8192,1:1,7,/data/x,4096,,0
vm,1,2,c,user,fputs,0,5000000,5000100,10,0,1:1,8,/data/y,10,,0
vm,1,2,c,user,lseek,0,5000000,5000100,,4711,1:1,8,/data/y,10,,0
vm,1,2,c,block,block request: write,0,600,700,4096,1048576,8:0,8,vda,,,0
END
drawn addresses addresses.csv
has addresses.text '^Reads: 1$'
has addresses.text '^Writes: 1$'
drawn addresses addresses.csv --level=block --by=thread
has addresses.text '^Device address \(MiB\)$'
# a guest and its host: what is of the virtual machine, per machine and level, from the first one down
sed 's/$/,,/; 1s/,,$/,vm,who_host/' addresses.csv >guests.csv
cat >>guests.csv <<'END'
g,3,3,d,vfs,vfs:sys_pread64,0,1000,9000,4096,0,1:1,7,/in/guest,4096,,0,web (QEMU pid 4),
g,3,3,d,block,block request: read,1,2000,8000,4096,8192,254:0,,vda,,,0,web (QEMU pid 4),
host,4,5,worker,vfs,vfs:sys_pread64,0,3000,7000,4096,8192,1:1,9,/web.img,4096,,0,web (QEMU pid 4),
host,4,5,worker,block,block request: read,1,4000,6000,4096,1048576,8:0,,sda,,3,0,web (QEMU pid 4),g
END
drawn addresses guests.csv --vm=web
for panel in 'g, system calls' 'g, block requests' 'host, system calls' 'host, block requests'; do
	has addresses.text "^$panel\$"
done
[ "$(grep -c '^Reads: 1$' addresses.text)" -eq 4 ] || fail "not a row of panels for each: $(cat addresses.text)"
drawn addresses guests.csv --machine=host --level=block --by=vm
has addresses.text '^web \(QEMU pid 4\)$'
status 1 sci-plot addresses guests.csv --vm=db -o x.png
has err "guests.csv: no transfers with an address of a virtual machine with 'db'\$"
# what sci-export writes has the columns; this trace has no addresses
sci-export one.otf2 -o one.csv
status 1 sci-plot addresses one.csv -o x.png
has err 'one.csv: no transfers with an address$'

cat >runs.csv <<'END'
io,threads,configuration,throughput_mib_s,sci
buffered,1,user,100.5,0
buffered,1,user,120,
buffered,64,user,900,0.5
direct,1,user,3,0.1
buffered,64,both,800,0.4
END
drawn threads runs.csv --where io=buffered --by=configuration
has threads.text '^Throughput \(MiB/s\)$'
has threads.text '^both$'
has threads.text '^64$'
/usr/bin/python3 -c "print('threads,elapsed_s')
for n in range(1, 65): print(f'{n},0'); print(f'{n},{n}')" >all.csv
drawn threads all.csv --y elapsed_s
has threads.text '^32$'
! grep -q '^33$' threads.text || fail 'a tick for each of 64 numbers'
printf 'io,level,events\nbuffered,user,1000\nbuffered,user,1100\ndirect,block,70\n' >events.csv
drawn events events.csv
has events.text '^block$'
cat >cost.csv <<'END'
task,cache,tracer,added_percent,sigma_percent,significant
gzip,hot,user,3,2,no
gzip,hot,strace,1400,2,yes
gzip,cold,strace,300,2,yes
tar,cold,user,,,
END
drawn cost cost.csv
has cost.text '^Added time \(%\), cold$'
has cost.text '^x$'
has cost.text '; x: failed$'

# the same input, the same bytes, whatever else is drawn
sci-plot cost cost.csv -o again.pdf -o again.svg --title 'Title of cost'
for suffix in svg pdf; do
	cmp "again.$suffix" "$name.$suffix" || fail "another $suffix from the same input"
done

# shellcheck disable=SC2086 # a list of words
/usr/bin/python3 - $drawings <<'END'
import os
import sys
import xml.dom.minidom
import matplotlib.image
pdfs = 0
for name in sys.argv[1:]:
    if os.path.exists(name + ".pdf"):
        pdf = open(name + ".pdf", "rb").read()
        assert pdf.startswith(b"%PDF") and pdf.rstrip().endswith(b"%%EOF") and len(pdf) > 4000, name
        assert b"/FontFile2" in pdf, name + ": fonts are not in the pdf"
        pdfs += 1
    xml.dom.minidom.parse(name + ".svg")
    image = matplotlib.image.imread(name + ".png")[:, :, :3]
    # drawn upon: neither blank nor of one colour; and nothing is cut off at the edges
    assert image.min() < 0.3 and image.reshape(-1, 3).std() > 0.03, name
    for edge in (image[0], image[-1], image[:, 0], image[:, -1]):
        assert edge.min() > 0.99, name + ": something is at the edge of the picture"
assert pdfs == 8, pdfs
END

# printed in grey, no level is taken for another
/usr/bin/python3 - <<'END'
import itertools
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["SCI_PLOT_DIR"])
import matplotlib.colors
import style
from reading import LEVELS
for a, b in itertools.combinations(LEVELS, 2):
    brightness = [sum(part * weight for part, weight in zip(
        matplotlib.colors.to_rgb(style.LEVEL_COLOURS[level]), (0.299, 0.587, 0.114)))
        for level in (a, b)]
    assert style.LEVEL_HATCHES[a] != style.LEVEL_HATCHES[b] or \
        abs(brightness[0] - brightness[1]) > 0.2, (a, b, brightness)
END

# misuse: two lines, status 2
for words in 'levels one.json' 'levels one.json -o x.gif' 'nothing one.json -o x.png' \
	'levels -o x.png' 'compare one.json -o x.png' 'levels one.json -o x.png --width=0' '' \
	'levels one.json -o x.png --top=-1' 'compare one.json two.json -o x.png --names=a'; do
	# shellcheck disable=SC2086 # a list of words
	status 2 sci-plot $words
	[ "$(wc -l <err)" -eq 2 ] || fail "sci-plot $words: $(cat err)"
done

# bad_input PATTERN ARGUMENT...: one line that says so, status 1, and no figure
bad_input()
{
	pattern=$1
	shift
	status 1 sci-plot "$@" -o bad.pdf
	one_line err
	has err "^sci-plot: .*$pattern"
	[ ! -e bad.pdf ] || fail "$*: left a figure"
}
bad_input 'missing.json: No such file' levels missing.json
bad_input 'no json .*sci-analyze --json' levels cost.csv
printf '{}' >empty.json
bad_input 'not a report' blame empty.json
printf '{ "version": 1, "application": {}, "threads": [{ "name": "a" }] }' >part.json
bad_input 'a thread without location, sci,' levels part.json
head -c 5000 one.json >cut.json
bad_input 'no json .*sci-analyze --json' levels cut.json
bad_input '15 mm x .* are too small' levels one.json --width=15
bad_input 'has no culprits' blame paper.json
bad_input 'scored differently' compare one.json paper.json
bad_input 'no column threads, throughput_mib_s; make it with ./dev paper' threads cost.csv
bad_input 'no row with io=paper' threads runs.csv --where io=paper
printf 'threads,throughput_mib_s\n1,many\n' >bad.csv
bad_input "column throughput_mib_s: 'many' is no number" threads bad.csv
printf 'threads,throughput_mib_s\n1,nan\n' >bad.csv
bad_input "column throughput_mib_s: 'nan' is no number" threads bad.csv
bad_input 'a mean of io buffered, direct; --by io .* --where io=buffered' threads runs.csv
bad_input 'a mean of configuration user, both' threads runs.csv --where io=buffered
bad_input 'no pieces of time in it; make it with sci-analyze --timeline --json' timeline one.json
bad_input 'not of one unit' threads runs.csv --y=throughput_mib_s,sci
printf 'io,level,events\nbuffered,user,0\n' >bad.csv
bad_input 'no events' events bad.csv
bad_input "no tracer 'of' .*; there are: user, strace" cost cost.csv --without=of
: >bad.csv
bad_input 'bad.csv: is empty; make it with sci-export' addresses bad.csv
printf 'threads,throughput_mib_s\n1\n' >bad.csv
bad_input 'line 2: too many or too few cells; make it with ./dev paper' threads bad.csv
bad_input 'no transfers with an address at level vfs' addresses addresses.csv --level=vfs
status 1 sci-plot levels one.json -o nowhere/x.pdf
one_line err
has err 'nowhere/x.pdf'
