"""HTTP routes of this package: signing up, in and out, the second factor, one's own account, pages of admins."""
