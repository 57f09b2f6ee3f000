#!/bin/sh
# sci-analyze: what it cannot read gets one clear line and status 1, misuse status 2.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

# refuses PATTERN ARGUMENT...: status 1, nothing on stdout, one line with PATTERN
refuses()
{
	pattern=$1
	shift
	status 1 sci-analyze "$@"
	one_line "$scratch/err"
	has "$scratch/err" "^sci-analyze: .*$pattern"
	[ ! -s "$scratch/out" ] || fail "$*: half a report"
}

# misuse ARGUMENT...: status 2, two lines
misuse()
{
	status 2 sci-analyze "$@"
	[ "$(wc -l <"$scratch/err")" -eq 2 ] || fail "$*: not two lines"
}

trace=$scratch/t.otf2
"$SCI_BUILD/tests/programs/random-trace" 1 3 "$trace"

status 0 sci-analyze "$trace" --top
has "$scratch/out" '^SCI '
status 0 sci-analyze --strict --json "$trace"

# the answer and the names stay on a narrow terminal, and no line is wider than it
for width in 60 80 100 130; do
	COLUMNS=$width status 0 sci-analyze "$trace"
	has "$scratch/out" '^verdict: '
	has "$scratch/out" 'slowed at +thread'
	[ "$(wc -L <"$scratch/out")" -le $width ] || fail "a line is wider than $width columns"
done

# one screen, whatever the terminal; who asks for rows gets them
"$SCI_BUILD/tests/programs/random-trace" 7 30 "$scratch/many.otf2" scheduler
for size in '80 24' '80 30' '120 24' '100 40'; do
	COLUMNS=${size% *} LINES=${size#* } status 0 sci-analyze "$scratch/many.otf2"
	[ "$(wc -l <"$scratch/out")" -lt "${size#* }" ] || fail "the default view does not fit $size"
	has "$scratch/out" '^\([0-9]+ more threads: --top=30\)$'
	has "$scratch/out" '^data: '
done
COLUMNS=80 LINES=24 status 0 sci-analyze --top=12 "$scratch/many.otf2"
has "$scratch/out" '^\(18 more threads'
COLUMNS=80 LINES=200 status 0 sci-analyze "$scratch/many.otf2"
has "$scratch/out" '^\(20 more threads'

refuses 'No such file.*sci-record -o DIR' "$scratch/none.otf2"
refuses 'directory' "$scratch"
: >"$scratch/empty.otf2"
refuses 'empty' "$scratch/empty.otf2"
echo hello >"$scratch/text.otf2"
refuses 'format' "$scratch/text.otf2"

cp "$trace" "$scratch/headless.otf2"
refuses 'headless' "$scratch/headless.otf2"
cp -r "$scratch/t" "$scratch/cut"
cp "$scratch/t.def" "$scratch/cut.def"
sed 's/^t$/cut/' "$trace" >"$scratch/cut.otf2"
head -c 1000 "$scratch/t/1.evt" >"$scratch/cut/1.evt"
refuses 'cut' "$scratch/cut.otf2"
rm "$scratch/cut/1.evt"
refuses '1.evt|location 1' "$scratch/cut.otf2"
# one good and one bad trace: nothing half
refuses 'No such file' "$trace" "$scratch/none.otf2"
TMPDIR=$scratch/none refuses 'temporary file' "$trace"

misuse
misuse --sci=other "$trace"
misuse --similar=other "$trace"
misuse --reference=other "$trace"
misuse --reference=quantile:0 "$trace"
misuse --reference=quantile:1.5 "$trace"
misuse --sci=paper --reference=supported "$trace"
misuse --reference=solo "--baseline=$trace" "$trace"
misuse "--baseline=$trace" --reference=supported "$trace"
misuse --threads=0 "$trace"
misuse --no-such-option "$trace"
misuse --timeline=0 --json "$trace"
misuse --timeline=5 --by=file "$trace"
misuse --timeline --compare "$trace" "$trace"
misuse --bins=5 --json "$trace"
misuse --culprits=5 "$trace"
misuse --culprits=x --json "$trace"

misuse --by=other "$trace"
misuse --workload --by=class "$trace"
misuse --workload --sci=paper "$trace"
misuse --fields=sci,other "$trace"
misuse --sort=other "$trace"
misuse --filter=sci "$trace"
misuse '--filter=sci>x' "$trace"
misuse '--filter=lost>3K' "$trace"
misuse '--filter=thread>3' "$trace"
misuse --json --fields=sci "$trace"
misuse --json --csv "$trace"
misuse --json=0 "$trace"
misuse --json=3 "$trace"
misuse --json=x "$trace"
misuse --classes --files "$trace"
misuse --timeline=0 "$trace"
misuse --interval=0 "$trace"
misuse --from=x "$trace"
misuse --from=2s --to=1s "$trace"
misuse --compare "$trace"
misuse --compare --by=file "$trace" "$trace"
misuse --compare --workload "$trace" "$trace"
misuse --sci=paper --blame "$trace"

# every view says the same of what it cannot read, and shows nothing half
for view in --by=process --files --by=device --classes --timeline --blame --by=callsite \
	--workload --by-second --csv '--workload --csv'; do
	# shellcheck disable=SC2086 # several words
	{
		refuses 'cut' $view "$scratch/cut.otf2"
		refuses 'empty' $view "$scratch/empty.otf2"
		refuses 'format' $view "$scratch/text.otf2"
		refuses 'before --from' $view --from=1000s "$trace"
	}
done
refuses 'cut' --compare "$trace" "$scratch/cut.otf2"
# a trace without any event is no error
"$SCI_BUILD/tests/programs/random-trace" 1 0 "$scratch/nothing.otf2"
for view in --by=process --files --by=device --classes --timeline --blame --workload; do
	status 0 sci-analyze $view "$scratch/nothing.otf2"
	has "$scratch/out" '^no '
	status 0 sci-analyze --csv $view "$scratch/nothing.otf2"
done
status 0 sci-analyze --compare "$scratch/nothing.otf2" "$trace"

status 0 sci-analyze --help
has "$scratch/out" EXAMPLES
