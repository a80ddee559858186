"""HTTP routes of this package: drafts and their previews, versions, publication, and uploads."""
