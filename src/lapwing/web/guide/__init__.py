"""The guide: should I use differential privacy, can I, how, and who helps?"""
