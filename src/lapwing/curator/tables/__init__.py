"""Tables: opened, described, checked by their owner, and bounds for their columns."""
