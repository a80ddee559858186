"""Steps from one version of the tables to the next; `lapwing.web.service.database.migrate` takes them."""
