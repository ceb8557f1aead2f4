"""Rules: what a node tells its slots, how it is drawn, which counts stand behind data."""
