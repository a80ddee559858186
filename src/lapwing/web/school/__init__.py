"""What is taught: nuggets as Markdown files, the words they define, and how a page is made of them."""
