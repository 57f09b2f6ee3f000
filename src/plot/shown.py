# Names as they may be shown on a terminal: as eta-ext/base/printable.h shows them.
# SPDX-License-Identifier: BSD-3-Clause

# what turns the direction of writing, ends a line, or stands before a text
HIDDEN = {0x61c, 0x200e, 0x200f, *range(0x2028, 0x202f), *range(0x2066, 0x206a), 0xfeff,
          *range(0x20), *range(0x7f, 0xa0), *range(0xd800, 0xe000)}


def shown(text):
    """TEXT, of whose letters none steers a terminal."""
    def escaped(letter):
        if "\a" <= letter <= "\r":
            return "\\" + "abtnvfr"[ord(letter) - 7]
        # names of files that are no UTF-8 have their bytes as surrogates
        return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"
                                                                 if "\udc80" <= letter <= "\udcff"
                                                                 else "surrogatepass"))
    return "".join(escaped(letter) if ord(letter) in HIDDEN else letter for letter in text)
