"""Rules: what a node sends to its slots, how it is drawn, which counts are behind data."""
