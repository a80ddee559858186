"""The lab: bring a table, say what is public about it, and see what a private answer costs and how accurate it is.

    intake      a file or a paste becomes a Parquet file in a folder of its own, in bounded memory
    statement   what the owner states about it: types, unit, bounds, keys, allowance; never read from the data
    analysis    a question: previewed without the data, released against the budget, and, in teaching mode only, exact
    result      what came out, in one shape for every question
    bench       a data set of one browser: its folder, its statement, its ledger, its answers
    jobs        long work, with progress, that can be cancelled

Teaching mode is for data that one may see anyway. It shows the exact answer and repeated draws beside the private one;
what it shows is not private, is marked, and is not kept.
"""
