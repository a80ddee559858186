"""Answers that go on, measured: how near counters come to the bound, how fast they are, beside their peers."""
