// Streams of C++, exceptions through calls of I/O, objects that write when they are destroyed.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

struct leaves {
	const char *name;
	~leaves() { std::ofstream("of-destructors", std::ios::app) << name << '\n'; }
};

static leaves global{ "global" };
thread_local leaves own{ "thread" };

static ssize_t throws(void *, char *, size_t)
{
	throw std::runtime_error("out of a read");
}

static void exceptions()
{
	std::ifstream absent;

	absent.exceptions(std::ios::failbit);
	try {
		absent.open("absent");
	} catch (const std::ios_base::failure &) {
		std::cout << "failure\n";
	}
	// through the C library and the tracer's frames
	FILE *file = fopencookie(nullptr, "r", cookie_io_functions_t{ throws, nullptr, nullptr, nullptr });
	try {
		leaves here{ "unwound" };
		std::cout << getc(file) << '\n';
	} catch (const std::runtime_error &e) {
		std::cout << e.what() << '\n';
	}
	for (int i = 0; i < 100; i++)
		try {
			std::ofstream("exceptions", std::ios::app) << i << '\n';
			throw i;
		} catch (int n) {
			std::ofstream("exceptions", std::ios::app) << -n << '\n';
		}
}

int main()
{
	std::vector<std::thread> threads;
	std::fstream both("both", std::ios::in | std::ios::out | std::ios::trunc);
	std::string word;

	both << "one two\n" << 3.5 << std::endl;
	both.seekg(4);
	both >> word;
	std::cout << word << ' ' << both.tellg() << '\n';
	std::cerr << "error\n";
	exceptions();
	for (int i = 0; i < 4; i++)
		threads.emplace_back([i] {
			std::ofstream out("of-thread" + std::to_string(i));
			for (int n = 0; n < 1000; n++)
				out << n << '\n';
			(void)own.name;
		});
	for (auto &thread : threads)
		thread.join();
	std::cout << std::async(std::launch::async, [] {
		return std::filesystem::file_size("of-thread0");
	}).get() << '\n';
	std::filesystem::copy_file("both", "copy");
	std::filesystem::rename("copy", "moved");
	std::ostringstream text;
	text << std::ifstream("moved").rdbuf();
	std::cout << text.str();
	std::set_terminate([] {
		std::puts("terminated");
		std::fflush(stdout);
		std::_Exit(6);
	});
	std::thread([] { throw 5; }).join();
}
