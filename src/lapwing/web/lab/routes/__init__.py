"""HTTP routes of this package: tables of the lab, questions, streams, the owner's check, and questions that failed."""
