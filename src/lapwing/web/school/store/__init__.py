"""Database access of this package: functions that take a transaction and return plain values."""
