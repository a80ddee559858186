"""Collections from many devices: devices randomise, servers carry, and no party learns more than was promised.

    collection   one signed file that devices, servers and analysts agree on
    device       Participant: consent, one report a slot, a lifetime budget
    servers      issuer of tokens, relay, ingestor, aggregator, analyzer: processes with keys of their own

See docs/collect.md, and docs/collect-wire.md for the bytes.
"""

from lapwing.collect.collection import Collection, Epoch
from lapwing.collect.participant import Participant
from lapwing.collect.participant_file import Status
from lapwing.collect.quotes import CollectionQuote, quote
from lapwing.collect.reader import read

__all__ = ["Collection", "CollectionQuote", "Epoch", "Participant", "Status", "quote", "read"]
