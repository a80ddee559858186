"""Addresses, and what answers them."""
