// A C++ program that copies a file through fstream, for the conformance test.
// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>
#include <string>

int main()
{
	std::ifstream in("input");
	std::ofstream out("streamed");
	std::string line;

	while (std::getline(in, line))
		out << line << '\n';
	out.flush();
	return in.bad() || !out;
}
