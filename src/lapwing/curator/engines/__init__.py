"""The engines: DuckDB inside this process, PostgreSQL and Spark where the data is."""
