"""The parts of the page: one file a section, its HTML and what its script draws."""
