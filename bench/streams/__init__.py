"""Answers that go on, measured: how near counters come to the bound, how fast they are, beside their peers."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded: what counts is the time of one core
