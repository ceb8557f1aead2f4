"""Hostile campaigns: kills, failing disks, interrupts, forged files, odd data, extreme models, wrong
arguments, another numba. One command runs all of them: `python -m tests.campaign`."""
