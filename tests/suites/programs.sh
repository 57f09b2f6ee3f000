#!/bin/sh
# Programs of runtimes that have threads and collectors of their own: java, node, and gcc's sanitizers.
: "${SCI_SUITES:?run by ./dev harmless}"
say()
{
	echo "$1: $2" >>verdicts
}
if command -v javac >/dev/null; then
	cat >A.java <<'END'
import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.concurrent.*;
public class A {
	public static void main(String[] a) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(16);
		for (int i = 0; i < 64; i++) {
			final int n = i;
			pool.submit(() -> {
				Path p = Path.of("j" + n);
				try (FileChannel c = FileChannel.open(p, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
						StandardOpenOption.READ)) {
					for (int k = 0; k < 200; k++)
						c.write(ByteBuffer.wrap(new byte[1000]), (long)k * 1000);
					c.map(FileChannel.MapMode.READ_WRITE, 0, 4096).put(5, (byte)n).force();
					c.force(true);
				}
				try (RandomAccessFile f = new RandomAccessFile("j" + n, "rw")) {
					f.seek(5);
					if (f.readByte() != n) System.out.println("wrong " + n);
				}
				return new ProcessBuilder("true").start().waitFor();
			});
		}
		pool.shutdown();
		System.out.println(pool.awaitTermination(100, TimeUnit.SECONDS));
		System.gc();
		long sum = 0;
		for (File f : new File(".").listFiles()) if (f.getName().matches("j[0-9]+")) sum += f.length();
		System.out.println(sum);
	}
}
END
	javac A.java
	say javac $?
	say java "$(${SCI_EACH:+"$SCI_EACH"} java -Xmx200m A 2>java.err | tr '\n' ' ')"
	say jar "$(jar cf x.jar A.class && jar tf x.jar | tr '\n' ' ')"
fi
if command -v node >/dev/null; then
	say node "$(${SCI_EACH:+"$SCI_EACH"} node -e '
const fs = require("fs"), cp = require("child_process"), w = require("worker_threads");
(async () => {
	await Promise.all([...Array(100).keys()].map(i => fs.promises.writeFile("n" + i, "x".repeat(i * 100))));
	let sum = 0;
	for (let i = 0; i < 100; i++) sum += (await fs.promises.readFile("n" + i)).length;
	const out = cp.spawnSync("sh", ["-c", "cat; exit 3"], { input: "in" });
	const worker = new w.Worker("require(\"fs\").writeFileSync(\"of-worker\", \"w\")", { eval: true });
	worker.on("exit", c => console.log(sum, out.status, out.stdout.toString(), c, fs.readFileSync("of-worker", "utf8")));
})();' 2>node.err)"
fi
cat >s.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *run(void *name)
{
	FILE *f = fopen(name, "w");
	for (int i = 0; i < 1000; i++)
		fprintf(f, "%d\n", i);
	fclose(f);
	return 0;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, run, "s1");
	run("s2");
	pthread_join(t, 0);
	return 5;
}
END
# EZTrace and libotf2 leak, with any of its modules
[ -z "$SCI_EACH" ] || export ASAN_OPTIONS=detect_leaks=0 LSAN_OPTIONS=detect_leaks=0
for kind in undefined leak thread address; do
	gcc -g -fsanitize=$kind -o "s-$kind" s.c -pthread 2>/dev/null || continue
	${SCI_EACH:+"$SCI_EACH"} ./"s-$kind" >"s-$kind.out" 2>&1
	say "gcc -fsanitize=$kind" "$? $(cat s1 s2 2>/dev/null | wc -c)"
	rm -f s1 s2
done
