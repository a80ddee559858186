"""HTTP routes of this package: the page where somebody takes part, and the console of operators."""
