"""Rows: expressions, the nodes of a plan, and what one unit can change in it. Nothing here reads data."""
