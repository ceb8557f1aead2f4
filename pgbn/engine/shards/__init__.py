"""Rows that are spread over workers: each has a shard of them, and the driver what all share."""
