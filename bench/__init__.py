"""Ours, NumPy's inexact samplers, the peers and the AES-CTR floor, side by side in one run on one core."""
