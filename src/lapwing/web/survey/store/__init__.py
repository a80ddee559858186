"""What is read from and written to the database: functions of a transaction that give plain values back."""
