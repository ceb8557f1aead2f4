"""Hashes of what pgbn computes and writes, to notice any change of a single bit.

    python -m tests.same_bits.record            record all cases again
    python -m tests.same_bits.record NAME ...   only these, or those whose names begin so

Run it from the root of the repository, and only where the change is meant: what else moved shows in
the diff of ``hashes.json``. A new case is one more `registry.case` in a module named in ``cases``.
"""
