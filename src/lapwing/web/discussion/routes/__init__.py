"""HTTP routes of this package: comments under a nugget, and their moderation."""
