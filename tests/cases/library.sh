#!/bin/sh
# libeta-ext as others use it: installed, found by pkg-config, exporting what its headers declare; the
# example of an own analysis, linked with it shared and static.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need make pkg-config nm readelf
unset MAKEFLAGS MAKELEVEL MFLAGS
# where configure installs to, below a folder of ours
status 0 make -C "$SCI_BUILD" DESTDIR="$scratch/root" install-sharedexecPROGRAMS install-exec-hook install-staticDATA \
	install-etaincludeHEADERS install-pkgconfigDATA
pc=$(find "$scratch/root" -name eta-ext.pc)
PKG_CONFIG_LIBDIR=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$scratch/root
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
libdir=$(dirname "$PKG_CONFIG_LIBDIR")
cflags=$(pkg-config --cflags eta-ext)
libs=$(pkg-config --libs eta-ext)

# The functions of the headers, those of the map, those that are exported: all the same.
cat "$SCI_SRC/eta-ext/base/eta.h" "$SCI_SRC/eta-ext/base/clocks.h" "$SCI_SRC/eta-ext/base/levels.h" |
	grep -oE '\beta_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -gt 20 ] || fail "hardly a function is declared"
nm -D --defined-only "$libdir/libeta-ext.so" | awk '$2 == "T" { print $3 }' >"$scratch/so"
sed -n 's/@@ETA_0\.1$//p' "$scratch/so" | sort | diff "$scratch/declared" - ||
	fail "libeta-ext.so exports something else than its headers declare"
nm -g --defined-only "$libdir/libeta-ext.a" | awk '$2 == "T" { print $3 }' | sort |
	diff "$scratch/declared" - ||
	fail "libeta-ext.a exports something else than its headers declare"

# What programs were linked with stays, as long as the soname does: debian/ has what the last release exports.
soname=$(readelf -d "$libdir/libeta-ext.so" | sed -n 's/.*SONAME.*\[libeta-ext\.so\.\(.*\)\]/\1/p')
symbols=$SCI_SRC/debian/libeta-ext$soname.symbols
if [ -d "$SCI_SRC/debian" ]; then # it is not in the tarball
	[ -f "$symbols" ] || fail "soname libeta-ext.so.$soname: no debian/libeta-ext$soname.symbols"
	sed -n 's/^ \(eta_[a-z0-9_]*@[A-Z0-9_.]*\) .*/\1/p' "$symbols" | sort >"$scratch/released"
	[ "$(wc -l <"$scratch/released")" -gt 20 ] || fail "$symbols: hardly a symbol"
	sed 's/@@/@/' "$scratch/so" | sort >"$scratch/exported"
	comm -23 "$scratch/released" "$scratch/exported" >"$scratch/gone"
	[ ! -s "$scratch/gone" ] ||
		fail "gone or changed since the last release, which takes a new soname: $(paste -sd ' ' "$scratch/gone")"
	comm -13 "$scratch/released" "$scratch/exported" >"$scratch/added"
	[ ! -s "$scratch/added" ] ||
		fail "not in $symbols, with the version that brings them: $(paste -sd ' ' "$scratch/added")"
fi

# Each header compiles alone, as C and, where there is a compiler, as C++.
: "${CC:=cc}"
for header in eta.h clocks.h levels.h; do
	printf '#include <%s>\nint main(void) { return 0; }\n' "$header" >"$scratch/alone.c"
	# shellcheck disable=SC2086 # lists of words
	status 0 $CC -std=c99 -Wall -Wextra -Werror $cflags -c "$scratch/alone.c" -o "$scratch/alone.o"
	if command -v c++ >/dev/null 2>&1; then
		# shellcheck disable=SC2086
		status 0 c++ -x c++ -Wall -Wextra -Werror $cflags -c "$scratch/alone.c" -o "$scratch/alone.o"
	fi
done

# The example: 3 threads with 100 calls of 4096 bytes each, all in one file and the first second.
"$SCI_BUILD/tests/programs/make-spool" "$scratch" 3 100
# shellcheck disable=SC2086
status 0 $CC -std=gnu11 -Wall -Wextra -Werror ${SCI_SANITIZED:-} $cflags \
	"$SCI_SRC/examples/bytes-per-second.c" -o "$scratch/shared" $libs
# shellcheck disable=SC2086,SC2046
status 0 $CC -std=gnu11 ${SCI_SANITIZED:-} $cflags "$SCI_SRC/examples/bytes-per-second.c" \
	-o "$scratch/static" "$libdir/libeta-ext.a" \
	$(sed -n 's/^Libs.private: *//p' "$pc")
for kind in shared static; do
	status 0 env LD_LIBRARY_PATH="$libdir" "$scratch/$kind" "$scratch/user.spool" "$scratch/kernel.spool"
	cp "$scratch/out" "$scratch/$kind.out"
	awk '{ n += $2 } END { exit n != 3 * 100 * 4096 }' "$scratch/out" || {
		cat "$scratch/out"
		fail "not the bytes that were written"
	}
	status 1 env LD_LIBRARY_PATH="$libdir" "$scratch/$kind" "$scratch/nothing"
	one_line "$scratch/err"
done
cmp "$scratch/shared.out" "$scratch/static.out"
