"""Arrays in a .npz file, as numpy writes them, without pickles; nothing in the file is trusted.

`numpy.load` would allocate any size that a header asks for, and unpack anything that is compressed.
Here an array is as large as its bytes in the file, and contains only numbers.
"""

from __future__ import annotations

import hashlib
import math
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import StorageError
from pgbn.storage.atomic_files import part_of

Arrays = Mapping[str, NDArray[Any]]
ROWS = "rows of this part"  # from which to which, an array of every part


def write_npz(file: IO[bytes], arrays: Arrays) -> None:
    """Write arrays by name, not compressed; equal arrays give identical bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # always dated 1980
            flat = np.ascontiguousarray(array).reshape(np.shape(array))
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, flat, allow_pickle=False)


def write_file(path: Path, arrays: Arrays) -> tuple[str, int]:
    """Write arrays to a file and wait for the disk; returns its checksum and size."""
    with path.open("wb+") as file:
        write_npz(file, arrays)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()


def read_npz(path: Path, file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of a file; ``path`` is for messages."""
    out: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            check_entries(archive, file.seek(0, 2))
            for info in archive.infolist():
                # Entries are not compressed, so none can be larger than the file.
                if info.compress_type != zipfile.ZIP_STORED:
                    raise StorageError(f"{path}: an entry is compressed")
                with archive.open(info) as member:
                    out[info.filename.removesuffix(".npy")] = read_npy(member, info.file_size)
    except StorageError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError, SyntaxError, TypeError, OverflowError, MemoryError) as error:  # fmt: skip
        raise StorageError(f"{path}: not arrays of pgbn ({error})") from None
    return out


def check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Reject an archive of ``size`` bytes with an entry that is not an array, occurs twice, or
    shares its bytes with another. A small file of such entries could claim any amount of memory."""
    names = [info.filename for info in archive.infolist()]
    if len(set(names)) < len(names) or not all(name.endswith(".npy") for name in names):
        raise ValueError("an entry occurs twice, or is not an array")
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ValueError("its entries overlap")
        end = info.header_offset + 30 + len(info.filename.encode()) + info.compress_size
    if end > size:
        raise ValueError("an entry is larger than the file")


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether all of pgbn can read numbers of this kind: no half or long floats, and only the byte
    order of this machine."""
    sizes = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8)}
    return bool(dtype.isnative) and dtype.itemsize in sizes.get(dtype.kind, ())


def read_npy(member: IO[bytes], size: int) -> NDArray[Any]:
    """One array in ``size`` bytes. Its shape is trusted only if that many bytes are there; objects
    are rejected."""
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise ValueError(f"array format {version}")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
    if not is_plain(dtype):
        raise ValueError(f"an array of dtype {dtype}")
    left = size - member.tell()
    if min(shape, default=0) < 0 or math.prod(map(int, shape)) * dtype.itemsize != left:
        raise ValueError(f"an array of shape {shape} in {left} bytes")
    data = bytearray(member.read(left))  # reading to the end also checks the CRC
    if len(data) != left:
        raise ValueError("the array is cut off")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")


# ---- groups whose rows are in several files -----------------------------------------------
#
#     state-….npz     the arrays that all rows share
#     state-….npz     the rows 0 to 511 of the other arrays
#     state-….npz     the rows from 512 on
#
# The manifest names them under ``parts``, with the axes of the rows. A worker writes a part,
# perhaps on another machine, under a unique temporary name. The driver, which has the lock of the
# folder, renames the parts and writes the manifest last. A reader sees complete arrays.


class WrittenPart(NamedTuple):
    """A file that was written but still has its temporary name."""

    file: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class InParts:
    """A group whose rows are with workers. ``here`` has the arrays that all rows share.
    ``write(probe, stem)`` lets the workers write their parts next to the ``probe``. It returns None
    if one of them does not see the probe; then ``whole()`` is written. ``axes`` has the axis of the
    rows of each array if it is not the first."""

    here: Arrays
    axes: Mapping[str, int]
    write: Callable[[Path, str], Sequence[WrittenPart] | None]
    whole: Callable[[], Arrays]


def write_part(probe: Path, stem: str, rows: tuple[int, int], arrays: Arrays) -> WrittenPart | None:
    """Write the rows of some arrays into the folder of the probe; None if the folder is on another
    machine and cannot be seen here."""
    if not probe.is_file():
        return None
    part = part_of(probe.with_name(f"{stem}.npz"))
    try:
        return WrittenPart(part.name, *write_file(part, {**arrays, ROWS: np.array(rows)}))
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def join_parts(axes: Mapping[str, int], parts: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    """The arrays of all rows."""
    end, names = 0, list(parts[0])
    for part in parts:
        first, last = (int(row) for row in part.get(ROWS, (-1, -1)))
        if first != end or last < first or list(part) != names:
            raise StorageError(f"damaged: a part has the rows {first} to {last}, not from {end} on")
        end = last
    return {
        name: np.concatenate([part[name] for part in parts], axis=axes.get(name, 0))
        for name in names
        if name != ROWS
    }
