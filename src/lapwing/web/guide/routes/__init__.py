"""HTTP routes of this package: the interview of the guide and its recommendation."""
