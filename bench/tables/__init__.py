"""Benchmarks of the curator: whole questions about millions of rows, on all cores, with their memory."""
