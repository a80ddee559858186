"""HTTP routes of this package: making, answering and reading surveys, and their moderation."""
