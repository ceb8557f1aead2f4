"""Storage: folders that are complete at every moment, arrays, corpora, codecs.

The types that can be saved register themselves (`pgbn.storage.archive`); storage names none.
"""

from pgbn.storage.archive import codec_in
from pgbn.storage.folders import Saved, load, open_saved, read_folder, save

__all__ = ["Saved", "codec_in", "load", "open_saved", "read_folder", "save"]
