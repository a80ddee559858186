"""HTTP routes of this package: the pages of the documentation under /docs."""
