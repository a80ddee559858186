"""What people see: answers as values, words, tables on a terminal, pages of a notebook, pictures and files."""
