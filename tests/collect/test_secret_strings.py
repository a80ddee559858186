"""Strings that open at t messages and not at t − 1, with and without the randomness server, and what attackers get."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from cases import together

from lapwing.anonymity.false_shares import corrected_secret
from lapwing.anonymity.sharing import ShamirSharing
from lapwing.collect import oprf
from lapwing.collect.secret_strings import ELEMENT_BYTES, PRIME, OpenedString, SecretStrings
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Reproducible

STRINGS = SecretStrings(threshold=5, length=24, context=b"test collection, epoch 1")
WORD = b"lapwing-9f3c"


def messages(text: bytes, count: int, strings: SecretStrings = STRINGS, seed: bytes | None = None) -> list[bytes]:
    return [strings.message(text, seed) for _ in range(count)]


@together("threshold", [2, 5, 40])
def test_a_string_opens_at_the_threshold_and_not_one_before(threshold: int) -> None:
    strings = SecretStrings(threshold=threshold, length=24, context=b"x")
    sent = messages(WORD, threshold, strings) + messages(b"other", threshold - 1, strings)
    assert strings.opened(sent) == [OpenedString(WORD, threshold)]
    assert strings.opened(sent[1:]) == []


def test_one_device_that_sends_its_message_often_counts_once() -> None:
    assert STRINGS.opened(messages(WORD, 4) + messages(WORD, 1) * 100) == [OpenedString(WORD, 5)]
    assert STRINGS.opened(messages(WORD, 1) * 100) == []


def test_fewer_shares_than_the_threshold_fit_every_key() -> None:
    scheme = ShamirSharing(parties=10, threshold=3, prime=11, largest=5)
    for secret in range(6):  # for every pair of points: each value pair comes from exactly one choice of slopes
        pairs = {
            tuple(scheme.share_at(point, secret, (a, b)).value for point in (4, 9))
            for a in range(11)
            for b in range(11)
        }
        assert len(pairs) == 121


def test_all_messages_have_one_length_and_equal_strings_one_ciphertext() -> None:
    sent = [STRINGS.message(text) for text in (b"", b"a", WORD, b"x" * 24)]
    assert {len(message) for message in sent} == {STRINGS.message_bytes}
    first, second = messages(WORD, 2)
    assert first[: -2 * ELEMENT_BYTES] == second[: -2 * ELEMENT_BYTES]
    assert first != second
    with pytest.raises(InvalidParameter, match="longer") as caught:
        STRINGS.message(b"x" * 25)
    assert "xxx" not in str(caught.value)


def test_messages_of_another_collection_or_epoch_do_not_count() -> None:
    later = SecretStrings(threshold=5, length=24, context=b"test collection, epoch 2")
    assert STRINGS.opened(messages(WORD, 4) + messages(WORD, 4, later)) == []


def test_false_shares_cost_no_wrong_string_and_few_of_them_block_nothing() -> None:
    true = messages(WORD, 10)
    sealed = true[0][: -2 * ELEMENT_BYTES]
    false = sealed + (7).to_bytes(ELEMENT_BYTES, "big") + (8).to_bytes(ELEMENT_BYTES, "big")
    assert [string.text for string in STRINGS.opened([false, *true])] == [WORD]
    assert STRINGS.opened([false, *true[:4]]) == []
    broken = [b"", b"\0" * STRINGS.message_bytes, b"\xff" * STRINGS.message_bytes, true[0][:-1]]
    assert STRINGS.opened(broken * 9 + true) == [OpenedString(WORD, 10)]


def test_a_third_of_the_shares_may_be_false_and_not_one_more() -> None:
    true = messages(WORD, 10)
    shares = [[SYSTEM.bits(240).to_bytes(ELEMENT_BYTES, "big") for _ in range(2)] for _ in range(6)]
    false = [true[0][: -2 * ELEMENT_BYTES] + point + value for point, value in shares]
    spread = [*false[:2], *true[:3], *false[2:4], *true[3:6], *false[4:5], *true[6:]]
    assert STRINGS.opened(spread) == [OpenedString(WORD, 15)]  # of 15 = 3t messages, 5 = (15 − t) / 2 are false
    blocked = [*false[:2], *true[:3], *false[2:4], *true[3:6], *false[4:], *true[6:9]]
    assert STRINGS.opened(blocked) == []  # 6 of 15, and no group of t without a false one


def test_every_error_in_a_small_field_is_corrected() -> None:
    curve = {point: (5 + 3 * point) % 13 for point in range(1, 7)}
    for places in combinations(curve, 2):
        for values in product(range(13), repeat=2):
            assert corrected_secret(curve | dict(zip(places, values, strict=True)), 2, 13) == 5
    assert corrected_secret({1: 3}, 2, 13) is None
    assert corrected_secret({1: 0, 2: 0, 3: 0}, 2, 13) == 0


def test_no_answer_looks_like_a_string_of_ones_own_and_never_opens() -> None:
    sent = [STRINGS.sent(None) for _ in range(20)]
    assert {(len(message), len(crowd)) for message, crowd in sent} == {tuple(map(len, STRINGS.sent(WORD)))}
    assert len({message[: -2 * ELEMENT_BYTES] for message, _ in sent}) == len({crowd for _, crowd in sent}) == 20
    assert STRINGS.opened([message for message, _ in sent]) == []
    assert STRINGS.opened([]) == []


def test_a_crowd_is_that_of_its_string_and_of_its_seed() -> None:
    assert STRINGS.sent(WORD)[1] == STRINGS.sent(WORD)[1] == STRINGS.crowd(WORD)
    others = {STRINGS.crowd(WORD, b"seed"), STRINGS.crowd(b"other"), STRINGS.crowd(WORD)}
    later = SecretStrings(threshold=5, length=24, context=b"test collection, epoch 2")
    assert len(others | {later.crowd(WORD)}) == 4


def test_without_the_function_a_guessable_string_opens_at_the_first_guess() -> None:
    [seen] = messages(b"yes", 1)
    guesses = {STRINGS.message(guess)[: -2 * ELEMENT_BYTES]: guess for guess in (b"no", b"yes", b"maybe")}
    assert guesses[seen[: -2 * ELEMENT_BYTES]] == b"yes"


def test_with_the_function_a_guess_needs_the_servers_key_and_the_server_sees_nothing() -> None:
    secret = oprf.random_scalar(Reproducible(1))

    def asked(text: bytes) -> tuple[bytes, bytes]:
        given = STRINGS.function_input(text)
        blind, blinded = oprf.blind(given)
        [evaluated], proof = oprf.blind_evaluate(secret, [blinded])
        oprf.verify(oprf.public_key(secret), [blinded], [evaluated], proof)
        return oprf.finalize(given, blind, evaluated), blinded

    (seed, first), (again, second) = asked(b"yes"), asked(b"yes")
    assert seed == again
    assert first != second  # blinded afresh
    sent = messages(b"yes", 5, seed=seed)
    assert STRINGS.opened(sent) == [OpenedString(b"yes", 5)]
    assert STRINGS.opened(sent[1:]) == []
    other = oprf.evaluate(oprf.random_scalar(Reproducible(2)), STRINGS.function_input(b"yes"))
    for guess in (STRINGS.message(b"yes"), STRINGS.message(b"yes", other)):  # what an observer without the key computes
        assert guess[: -2 * ELEMENT_BYTES] != sent[0][: -2 * ELEMENT_BYTES]
    held = oprf.evaluate(secret, STRINGS.function_input(b"yes"))  # who holds the key guesses for free
    assert STRINGS.message(b"yes", held)[: -2 * ELEMENT_BYTES] == sent[0][: -2 * ELEMENT_BYTES]


def test_as_many_false_devices_as_the_threshold_open_what_they_can_send() -> None:
    [honest] = messages(WORD, 1)
    assert STRINGS.opened([honest, *messages(WORD, 5)]) == [OpenedString(WORD, 6)]


@together(("threshold", "length"), [(1, 8), (1001, 8), (5, 0), (5, 5000)])
def test_parameters_that_promise_nothing_are_refused(threshold: int, length: int) -> None:
    with pytest.raises(InvalidParameter):
        SecretStrings(threshold=threshold, length=length, context=b"")


def test_shares_at_points_of_ones_own_are_shares_of_one_polynomial() -> None:
    scheme = ShamirSharing(parties=PRIME - 1, threshold=3, prime=PRIME, largest=1 << 200)
    shares = [scheme.share_at(point, 12345, (7, PRIME - 9)) for point in (3, 1 << 250, 99)]
    assert scheme.reconstruct(shares) == 12345
    with pytest.raises(InvalidParameter, match="slopes"):
        scheme.share_at(3, 12345, (7,))
    with pytest.raises(InvalidParameter, match="secret"):
        scheme.share_at(3, -1, (7, 8))
