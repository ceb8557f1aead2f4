"""Arrays in a .npz file, as numpy writes them, without pickles and without trust.

`numpy.load` would allocate whatever a header asks for and inflate whatever is compressed; here an
array is as large as its bytes in the file, and of numbers only.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import StorageError

__all__ = ["Arrays", "check_entries", "file_digest", "is_plain", "read_npy", "read_npz",
           "write_npz"]  # fmt: skip

Arrays = Mapping[str, NDArray[Any]]


def write_npz(file: IO[bytes], arrays: Arrays) -> None:
    """Write arrays by name, not compressed; the same arrays give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, whatever the day
            flat = np.ascontiguousarray(array).reshape(np.shape(array))
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, flat, allow_pickle=False)


def read_npz(path: Path, file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of a file; ``path`` is for messages."""
    out: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            check_entries(archive, file.seek(0, 2))
            for info in archive.infolist():
                # Stored as they are: an entry cannot be larger than the file.
                if info.compress_type != zipfile.ZIP_STORED:
                    raise StorageError(f"{path}: an entry is compressed")
                with archive.open(info) as member:
                    out[info.filename.removesuffix(".npy")] = read_npy(member, info.file_size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError, SyntaxError, TypeError, OverflowError, MemoryError) as error:  # fmt: skip
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{path}: not arrays of pgbn ({error})") from None
    return out


def check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive of ``size`` bytes with an entry that is no array, comes twice, or shares
    its bytes with another: a small file of such entries holds as many bytes as it likes."""
    names = [info.filename for info in archive.infolist()]
    if len(set(names)) < len(names) or not all(name.endswith(".npy") for name in names):
        raise ValueError("an entry comes twice, or is no array")
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ValueError("its entries overlap")
        end = info.header_offset + 30 + len(info.filename.encode()) + info.compress_size
    if end > size:
        raise ValueError("an entry is larger than the file")


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether numbers are of a kind that all of pgbn reads: not half or long floats, nor in the
    order of bytes of another machine."""
    sizes = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8)}
    return bool(dtype.isnative) and dtype.itemsize in sizes.get(dtype.kind, ())


def read_npy(member: IO[bytes], size: int) -> NDArray[Any]:
    """One array in ``size`` bytes; its shape is believed only if so many are there, and no
    objects."""
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise ValueError(f"array format {version}")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
    if not is_plain(dtype):
        raise ValueError(f"an array of dtype {dtype}")
    room = size - member.tell()
    count = 1
    for length in shape:
        count *= int(length)
    if min(shape, default=0) < 0 or count * dtype.itemsize != room:
        raise ValueError(f"an array of shape {shape} in {room} bytes")
    data = bytearray(member.read(room))  # reading to the end also checks the CRC
    if len(data) != room:
        raise ValueError("an array that is cut off")
    array = np.frombuffer(data, dtype)
    return array.reshape(shape, order="F" if by_columns else "C")


def file_digest(file: IO[bytes]) -> tuple[str, int]:
    """The SHA-256 of a file and its size."""
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]
    size = file.tell()
    file.seek(0)
    return digest.hexdigest(), size
