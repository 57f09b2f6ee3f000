// C++ exceptions and backtrace() around and through I/O; prints what it saw, the same every time.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>

// Frames of the program itself, without addresses, which change from run to run.
__attribute__((noinline)) static void print_backtrace(const char *what)
{
	void *frames[64];
	int n = backtrace(frames, 64);
	char **names = backtrace_symbols(frames, n);

	std::printf("%s:", what);
	for (int i = 0; i < n; i++) {
		const char *open = std::strchr(names[i], '('), *close = std::strchr(names[i], ')');

		if (std::strstr(names[i], "exceptions") && open && close)
			std::printf(" %.*s", static_cast<int>(close - open - 1), open + 1);
	}
	std::printf("\n");
	std::free(names);
}

extern "C" __attribute__((noinline)) void write_and_throw(int fd, int depth)
{
	if (write(fd, "x", 1) != 1)
		std::abort();
	if (depth == 0) {
		print_backtrace("deep");
		throw std::runtime_error("from below");
	}
	write_and_throw(fd, depth - 1);
	if (write(fd, "never", 5) != 5)
		std::abort();
}

// The C library calls this inside of the program's fread: the exception passes the tracer's frames.
static ssize_t throwing_read(void *, char *, size_t)
{
	throw std::string("through fread");
}

extern "C" __attribute__((noinline)) void read_cookie()
{
	cookie_io_functions_t functions = { throwing_read, nullptr, nullptr, nullptr };
	FILE *stream = fopencookie(nullptr, "r", functions);
	char byte[2];

	if (!stream)
		std::abort();
	try {
		if (std::fread(byte, 1, sizeof(byte), stream) == 0)
			std::printf("nothing was thrown\n");
	} catch (const std::string &what) {
		std::printf("caught: %s\n", what.c_str());
	}
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_CREAT | O_TRUNC | O_RDWR, 0600) : -1;

	std::printf("descriptor %d\n", fd);
	for (int i = 0; i < 100; i++) {
		try {
			write_and_throw(fd, i % 7);
		} catch (const std::runtime_error &error) {
			std::printf("caught: %s\n", error.what());
		}
	}
	for (int i = 0; i < 3; i++)
		read_cookie();
	print_backtrace("main");
	std::ifstream in(argv[1]);
	std::string text;
	in >> text;
	std::printf("%zu bytes, descriptor %d\n", text.size(), dup(0));
	return 0;
}
