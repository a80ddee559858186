"""Two servers that do not trust each other: the curator's questions about rows that neither of them sees.

Trust: two servers that follow the protocol and do not work together. Each sees random bits, and the noisy answer.

    joint noise   noise whose coins both servers toss together: neither knows it (`joint_noise`)
    transfers     oblivious transfers by the million, between the two servers (`transfers`)
"""
