# May other users come to what was built? A tree below /root is closed to them.
# SPDX-License-Identifier: BSD-3-Clause
import os
import stat


def closed_folder(path):
    """The first folder on the way to PATH that others may not enter, None."""
    parts = os.path.realpath(path).split("/")
    for n in range(2, len(parts) + 1):
        folder = "/".join(parts[:n])
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            return folder
    return None
