"""HTTP routes of this package: reports of browsers about reading, and the page of statistics."""
