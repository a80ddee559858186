"""The trusted curator: private tables, queries and their answers."""
