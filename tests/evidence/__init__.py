"""Evidence that samplers are right: every network × sampler × executor, and one file of results.

    python -m tests.evidence                     everything, at full power (hours)
    python -m tests.evidence --power 0.01        everything, with a hundredth of the replicates
    python -m tests.evidence --table             write the tables of docs/correctness.md, run nothing

``results.json`` holds the largest |z| of every entry, with the commit that was tested.
"""
