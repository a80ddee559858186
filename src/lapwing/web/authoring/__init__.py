"""The desk of an author: drafts, versions, pictures and videos, and what may be published."""
