# Files that are written for a figure: whole or not at all, through no link, over nobody else's.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import os
import secrets
import stat

MAX_LINKS = 40  # as the kernel


def trusted(status):
    return status.st_uid in (0, os.geteuid(), os.stat("/").st_uid)


def open_folder(path):
    """A descriptor of folder PATH; a link of another user's on the way could lead elsewhere the next time."""
    links = 0
    at = os.open("/" if path.startswith("/") else ".", os.O_PATH | os.O_DIRECTORY)
    rest = [part for part in path.split("/") if part]
    try:
        while rest:
            part = rest.pop(0)
            below = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=at)
            status = os.fstat(below)
            if stat.S_ISLNK(status.st_mode):
                os.close(below)
                links += 1
                if links > MAX_LINKS or not trusted(status):
                    raise OSError(f"{path}: leads through a link of another user's: name the folder itself")
                target = os.readlink(part, dir_fd=at)
                rest = [part for part in target.split("/") if part] + rest
                below = os.open("/", os.O_PATH | os.O_DIRECTORY) if target.startswith("/") else os.dup(at)
            elif not stat.S_ISDIR(status.st_mode):
                os.close(below)
                raise NotADirectoryError(20, "Not a directory", path)
            os.close(at)
            at = below
        return at
    except BaseException:
        os.close(at)
        raise


def refuse_other(name, base, folder):
    """Nothing but an older file of the same user's is replaced."""
    try:
        status = os.stat(base, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if status.st_uid != os.geteuid():
        raise OSError(f"{name}: is there already and belongs to uid {status.st_uid}: choose another name")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{name}: is there already and no file: choose another name")


@contextlib.contextmanager
def output(name, mode):
    """A binary file to write; it is called NAME once all went well, else an older one is as it was."""
    above, base = os.path.split(name)
    folder = open_folder(above)
    try:
        refuse_other(name, base, folder)
        temporary = f".sci-plot.{secrets.token_hex(8)}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        try:
            with open(fd, "wb") as file:
                yield file
                os.fchmod(file.fileno(), mode)
            os.rename(temporary, base, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
    finally:
        os.close(folder)
