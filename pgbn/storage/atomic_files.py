"""Files and folders that are complete at every moment: temporary names, locks, syncing.

    with locked(folder):      # for as long as a training takes; other writers are rejected
        ...
        with locked(folder):  # the same thread may ask again
            ...

The lock is the system's own (flock) and leaves no file behind: a process that is killed keeps none.
If the system or the disk has no such locks, nothing is locked.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from secrets import randbits
from typing import IO
from weakref import WeakSet

from pgbn.checks import check_path
from pgbn.errors import PgbnError, StorageError

_LONGEST = 200  # bytes of a name; most disks allow 255, and some is added


@contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name when it is complete and on the disk.

    The target of a link is replaced, not the link. A device or a pipe is written directly: nothing
    can replace /dev/null.
    """
    if target.exists() and not (target.is_file() or target.is_dir()):
        with target.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(target))
    part = part_of(target)
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(PermissionError):  # a file may be put into a folder that cannot be read
            sync_folder(target.parent)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()


def save_text(path: str | os.PathLike[str], text: str, what: str) -> Path:
    """Write a text to a file, which is replaced only when the text is complete."""
    target = check_path("path", path or ".")
    if not target.name:
        raise PgbnError(f"path={str(path)!r}: give the name of a file for the {what}")
    try:
        with new_file(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise PgbnError(f"{path}: could not be written ({error.strerror or error})") from error
    return target


def part_of(target: Path) -> Path:
    """The temporary path of a file: in the same folder, under a name that no other thread, process
    or machine uses. A long name is replaced by its checksum."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST:
        name = sha256(os.fsencode(name)).hexdigest()
    return target.with_name(f".{name}-{randbits(63)}.part")


def sync_folder(folder: Path) -> None:
    """Wait until the names of a folder are on the disk. Some mounts (FUSE, SMB) cannot do this for
    folders and raise an error; then only the files are waited for."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(handle)


def busy(folder: Path) -> str:
    """The error for a writer if another process writes there."""
    return (
        f"{folder}: another process is writing there (a training, or a save); wait until it is "
        "done, end it, or use another folder"
    )


class _Lock:
    """The lock of one folder. Its handle is set before it locks anything, and is released with the
    object: after Ctrl-C at any moment, a notebook does not keep the folder locked."""

    handle = -1  # none

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self) -> None:
        """Take the lock; do nothing if the system has no locks."""
        try:
            import fcntl
        except ImportError:  # not a POSIX system
            return
        try:
            self.handle = os.open(self.folder, os.O_RDONLY)
        except OSError as error:  # not ours to read, or too many files are open
            raise StorageError(f"{self.folder}: could not be written ({error.strerror})") from error
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise StorageError(busy(self.folder)) from None
        except OSError:  # some disks of other machines
            self.release()

    def keep(self) -> None:
        """Keep the lock, even if the folder was removed and made again."""
        with suppress(OSError):
            if self.handle >= 0 and os.path.samestat(os.fstat(self.handle), os.stat(self.folder)):
                return
        self.release()
        self.take()

    def release(self) -> None:
        handle, self.handle = self.handle, -1
        try:  # from here on signals wait until it is closed
            if handle >= 0:
                os.close(handle)
        except OSError:
            pass

    __del__ = release


_locks: ContextVar[dict[Path, _Lock]] = ContextVar("locks of this thread")
_all: WeakSet[_Lock] = WeakSet()


def _leave_to_parent() -> None:
    for lock in _all:
        lock.release()


if hasattr(os, "register_at_fork"):  # else a child would keep the lock of its dead parent
    os.register_at_fork(after_in_child=_leave_to_parent)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other writers; it is made if it is missing."""
    make_folder(folder)
    place, locks = Path(os.path.realpath(folder)), _locks.get({})
    if place in locks:
        locks[place].keep()
        yield
        return
    lock, before = _Lock(place), None
    try:
        _all.add(lock)
        lock.take()
        before = _locks.set({**locks, place: lock})
        yield
    finally:
        if before is not None:
            _locks.reset(before)
        lock.release()


def make_folder(folder: Path) -> None:
    """Make the folder and its parents; a file in its place is not touched."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        there = (path for path in (folder, *folder.parents) if path.exists() or path.is_symlink())
        file = next(there, folder)
        kind = "a file" if file.exists() else f"a link to {os.readlink(file)}, which is not there"
        raise StorageError(
            f"{folder}: could not be written ({file} is {kind}); name a folder"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{folder}: could not be written ({reason})") from error
