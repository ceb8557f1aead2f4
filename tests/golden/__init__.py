"""Files that an earlier commit wrote, which every later one must read."""
