"""Live collections of `lapwing.collect`, as people see them: a page to take part, and a console for operators.

    registry      the signed files in the folder that the server was started with
    admission     the school as the issuer of tokens, for collections where people sign in
    answering     what a browser is asked and what it will send, in words
    watch         what the parties say about themselves now: health, refusals, published estimates
    pipeline      the road of a report as a figure: who is on it, how they are, what they count
    charts        estimates with error bars, batch after batch

Privacy: browsers send their reports to the ingestor or the relay, never here; the console shows what parties tell
everybody, and estimates change only when a batch is closed. This server is a party only where people sign in: then it
is the issuer, and learns which accounts take part. It cannot tell which report is whose (collect/tokens.md).
"""
