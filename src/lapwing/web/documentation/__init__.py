"""The documentation: a site that `make docs` builds and the school serves."""
