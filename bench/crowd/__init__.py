"""Local protocols, beside pure-ldp and multi-freq-ldpy: clients, aggregators, decoders."""
