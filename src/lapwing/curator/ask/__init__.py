"""A question: checked, priced, quoted, charged, released; and saved and read again."""
