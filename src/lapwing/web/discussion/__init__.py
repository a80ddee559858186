"""Comments under a nugget, and those who keep them civil."""
