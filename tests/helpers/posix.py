"""Which tests use what only POSIX has: found by reading them, so that no test need say so."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["words_of_posix"]

# os.kill is there on Windows, but ends the process whatever the signal.
WORDS = ("os.kill", "os.fork", "SIGHUP", "/dev/full", "os.mkfifo", "SIGKILL", "fcntl", "termios", "pty",
         "symlink_to", "chmod", "campaign.kills")  # fmt: skip


def words_of_posix(test: Callable[..., Any]) -> list[str]:
    """The words of POSIX in the source of a test and of the functions of its module that it names."""
    source = inspect.getsource(test)
    module = sys.modules[test.__module__]
    for name in set(re.findall(r"[A-Za-z_]\w*", source)):
        helper = getattr(module, name, None)
        if inspect.isfunction(helper) and helper.__module__ == module.__name__:
            source += inspect.getsource(helper)
    return [word for word in WORDS if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", source)]
