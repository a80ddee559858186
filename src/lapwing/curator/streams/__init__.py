"""Streams: a question that is answered again after every step, for one price, from a state that survives crashes.

schedule, protection → definition (a question of `ask`) → pricing, quote → opening (charged once) → stream
rows → sorting (which step) → reading (exact integers) → activity (who counts) → counters → state (one commit) → answers
"""
