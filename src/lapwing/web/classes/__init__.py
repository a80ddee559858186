"""A class: a code to join, a list that its teacher and its pupils see."""
