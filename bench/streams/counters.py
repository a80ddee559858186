"""Counters: mean error over the lower bound, state, the time of a quote, steps a second.

The error is computed, not sampled, where it can be: ours and the trees' from their variances, jax_privacy's from its
Toeplitz coefficients. The bound is that of all factorisations at the same ρ (nuclear norm over steps). OpenDP's tree
wants the whole stream at once and is sampled. Times are CPU seconds, so that a busy machine does not matter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.streams.report import Result, Verdict, at_least, at_most
from lapwing.mechanisms import BinaryTree, SignedTree, SquareRootCounter
from lapwing.mechanisms.dyadic_layout import layout_of
from lapwing.mechanisms.square_root_variance import machine_of, mean_variance, variances
from lapwing.noise import SYSTEM
from lapwing.noise.gaussian import discrete_gaussian_sampler

RHO = 0.5
EXPONENTS = (10, 12, 14, 16, 18, 20)
LONG = 20
NEAREST = 1.10
LARGEST_STATE = 4096
LONGEST_QUOTE = 1.0
BATCH, SINGLE = 1_000_000, 20_000
TURNS = 3
RELEASES = 20


def measure(*, peers: bool = True) -> tuple[list[Result], list[Verdict]]:
    """All results and bars of counters."""
    results, verdicts = [], []
    for exponent in EXPONENTS:
        more, bars = errors(exponent)
        results += more
        verdicts += bars
    more, bars = rates()
    results += more
    verdicts += bars
    if peers:
        results += [*opendp(), *jax_privacy()]
    return results, verdicts


def bound(steps: int) -> float:
    """The least root mean squared error at ρ = ½ of any factorisation: the singular values of the sums are known."""
    k = np.arange(1, steps + 1)
    return float((0.5 / np.sin((2 * k - 1) * math.pi / (2 * (2 * steps + 1)))).sum() / steps)


def errors(exponent: int) -> tuple[list[Result], list[Verdict]]:
    """Mean errors over the bound, states and the time of a quote, for one length."""
    steps, job = 1 << exponent, f"mean error, T = 2^{exponent}"
    for cache in (layout_of, machine_of, variances, mean_variance):
        cache.cache_clear()
    start = time.process_time()
    ours = SquareRootCounter.for_rho(RHO, steps=steps, sensitivity=1)
    ratio = ours.rms() / bound(steps)
    ours.accuracy(0.95, simultaneous=True)  # a band around all steps: every variance is needed
    quoted = time.process_time() - start
    tree, honaker = (BinaryTree.for_rho(RHO, steps=steps, sensitivity=1, refined=refined) for refined in (False, True))
    results = [
        Result(job, "Lapwing, square root", ratio, "× bound", f"state {ours.state_bytes} B, quote {quoted:.3f} s"),
        Result(
            job, "Lapwing, Honaker's tree", honaker.rms() / bound(steps), "× bound", f"state {honaker.state_bytes} B"
        ),
        Result(job, "Lapwing, binary tree", tree.rms() / bound(steps), "× bound", f"state {tree.state_bytes} B"),
    ]
    signed = SignedTree.for_epsilon(1, steps=steps, sensitivity=1)
    laplace = BinaryTree.for_epsilon(1, steps=steps, sensitivity=1)
    results += [
        Result(
            f"rms at ε = 1, T = 2^{exponent}", "Lapwing, signed tree", signed.rms(), "", f"{signed.branches} branches"
        ),
        Result(f"rms at ε = 1, T = 2^{exponent}", "Lapwing, binary tree", laplace.rms(), ""),
    ]
    verdicts = [
        at_most(f"mean error over the bound at T = 2^{exponent}", ratio, NEAREST, "×"),
        at_most(f"state at T = 2^{exponent}", ours.state_bytes, LARGEST_STATE, " B"),
        at_most(f"a quote at T = 2^{exponent}", quoted, LONGEST_QUOTE, " s"),
        Verdict(
            f"less error than both trees at T = 2^{exponent}", f"{ratio:.3f}×", ours.rms() < honaker.rms() < tree.rms()
        ),
        Verdict(f"signed below binary tree at T = 2^{exponent}", f"{signed.rms():.3g}", signed.rms() < laplace.rms()),
    ]
    return results, verdicts


def rates() -> tuple[list[Result], list[Verdict]]:
    """Steps a second of a long stream, in batches and one by one, beside the draws of noise alone."""
    steps = 1 << LONG
    values = np.random.default_rng(1).integers(0, 10, steps)
    counter = SquareRootCounter.for_rho(RHO, steps=steps, sensitivity=1)
    sampler = discrete_gaussian_sampler(counter._variance.numerator, counter._variance.denominator)
    batch = best(lambda: counter.observe_many(counter.open(), values), steps)
    floor = best(lambda: sampler.draws(steps, SYSTEM), steps)
    single = best(lambda: singles(counter, 20_000), 20_000)
    single_floor = best(lambda: [sampler.draw(SYSTEM) for _ in range(20_000)], 20_000)
    tree = BinaryTree.for_rho(RHO, steps=steps, sensitivity=1, refined=True)
    signed = SignedTree(epsilon=1, steps=steps, sensitivity=1)
    job = f"steps a second, T = 2^{LONG}"
    results = [
        Result(job, "Lapwing, square root, batch", batch, "/s", f"{batch / floor:.0%} of drawing the noise alone"),
        Result(job, "floor: discrete Gaussian draws, array", floor, "/s"),
        Result(job, "Lapwing, square root, one by one", single, "/s", f"{single / single_floor:.0%} of drawing alone"),
        Result(job, "floor: discrete Gaussian draws, one by one", single_floor, "/s"),
        Result(job, "Lapwing, Honaker's tree, one by one", best(lambda: singles(tree, 20_000), 20_000), "/s"),
        Result(job, "Lapwing, signed tree, one by one", best(lambda: singles(signed, 20_000), 20_000), "/s"),
    ]
    return results, [
        at_least("steps in batches", batch, BATCH, "/s"),
        at_least("single observes", single, SINGLE, "/s"),
    ]


def singles(counter: Any, count: int) -> None:
    """So many steps, one by one."""
    state = counter.open()
    for _ in range(count):
        state = counter.observe(state, 3)


def best(run: Callable[[], object], work: int) -> float:
    """Work a CPU second: the best of a few turns after one to warm up."""
    run()
    taken = []
    for _ in range(TURNS):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return work / min(taken)


def opendp() -> Iterator[Result]:
    """OpenDP's tree with its own branching factor, made consistent; the sums are those of its leaves."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    steps = 1 << 10
    branches = dp.t.choose_branching_factor(size_guess=steps)
    laws = {
        "Gaussian, ρ = 0.5": (dp.l2_distance(T=int), dp.m.then_gaussian, RHO),
        "Laplace, ε = 1": (dp.l1_distance(T=int), dp.m.then_laplace, 1.0),
    }
    for law, (metric, then_noise, price) in laws.items():
        space = dp.vector_domain(dp.atom_domain(T=int)), metric
        tree = dp.t.make_b_ary_tree(*space, leaf_count=steps, branching_factor=branches)
        chain = dp.binary_search_chain(
            lambda scale, tree=tree, noise=then_noise: tree >> noise(scale=scale), 1, price, bounds=(1e-3, 1e4)
        )
        leaves = dp.t.make_consistent_b_ary_tree(branching_factor=branches)
        start = time.process_time()
        sums = np.array([np.cumsum(leaves(chain([0] * steps))[:steps]) for _ in range(RELEASES)])
        rate = steps * RELEASES / (time.process_time() - start)
        rms = float(np.sqrt((sums**2).mean()))
        note = f"{branches} branches, {RELEASES} releases; needs the whole stream at once"
        if law.startswith("Gaussian"):
            yield Result("mean error, T = 2^10", f"OpenDP's tree, {law}", rms / bound(steps), "× bound", note)
        else:
            yield Result("rms at ε = 1, T = 2^10", f"OpenDP's tree, {law}", rms, "", note)
        yield Result("steps a second, T = 2^10", f"OpenDP's tree, {law}", rate, "/s", "whole streams")


def jax_privacy() -> Iterator[Result]:
    """Buffered linear Toeplitz and banded Toeplitz factorisations of jax_privacy: real noise, in doubles."""
    import jax
    import jax.numpy as jnp
    from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz

    jax.config.update("jax_enable_x64", True)
    for exponent, error in ((10, "mean"), (10, "max"), (16, "max"), (20, "max")):
        steps, start = 1 << exponent, time.process_time()
        strategy = buffered_toeplitz.optimize(n=steps, error=error)
        taken = time.process_time() - start
        noising = strategy.inverse()
        squared = float((strategy.toeplitz_coefs(steps) ** 2).sum())
        mean = float(jnp.cumsum(jnp.cumsum(noising.toeplitz_coefs(steps)) ** 2).mean())
        note = f"{len(strategy.buf_decay)} buffers, optimised in {taken:.0f} CPU s"
        who = f"jax_privacy, BLT for the {error} error"
        yield Result(f"mean error, T = 2^{exponent}", who, math.sqrt(mean * squared) / bound(steps), "× bound", note)
    stream = strategy.inverse_as_streaming_matrix()

    def noise(key: Any) -> Any:
        def step(state: Any, draw: Any) -> Any:
            out, state = stream.multiply_next(draw, state)
            return state, out

        draws = jax.random.normal(key, (steps,))
        return jnp.cumsum(jax.lax.scan(step, stream.init_multiply(draws[0]), draws)[1])

    compiled = jax.jit(noise)
    rate = best(lambda: compiled(jax.random.PRNGKey(1)).block_until_ready(), steps)
    yield Result(f"steps a second, T = 2^{LONG}", "jax_privacy, BLT, one scan", rate, "/s", "real noise only, compiled")
    for bands in (32, 128):
        coefficients = toeplitz.optimize_banded_toeplitz(1 << 10, bands)
        ratio = math.sqrt(float(toeplitz.loss(coefficients, 1 << 10))) / bound(1 << 10)
        yield Result(
            "mean error, T = 2^10", f"jax_privacy, {bands} bands", ratio, "× bound", f"{bands} numbers of state"
        )
