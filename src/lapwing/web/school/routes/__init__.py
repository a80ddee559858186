"""HTTP routes of this package: reading nuggets, what to read next, and votes."""
