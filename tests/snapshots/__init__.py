"""Texts that users read, kept as files, so that a change of one shows as a difference of text.

    python -m tests.snapshots.write              write all of them again
    python -m tests.snapshots.write NAME ...     only those whose names begin so

Run it from the root of the repository, look at ``git diff tests/snapshots``, and commit the new
files with the change that caused them.
"""
