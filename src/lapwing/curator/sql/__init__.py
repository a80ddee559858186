"""SQL: a SELECT with groups becomes a question."""
