"""Steps from one version of the tables to the next; `lapwing.web.database.migrate` takes them."""
