"""How likely so much is by chance: the few distributions that the statistics need."""

from __future__ import annotations

import math

__all__ = ["at_least", "binomial_at_least", "poisson_interval", "truncated_rate"]

_PRECISION = 1e-9
_NORMAL_97_5 = 1.959964


def at_least(count: int, mean: float, *, given: int = 0) -> float:
    """P(X ≥ count) of a Poisson variable of this mean; with ``given`` = 1 among those that are not zero."""
    if count <= given:
        return 1.0
    if mean <= 0:
        return 0.0
    tail, term, number = 0.0, math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)), count
    # Terms of the tail itself: one less P(X < count) would lose everything below 1e-16.
    while term > tail * _PRECISION or number < mean:
        tail += term
        number += 1
        term *= mean / number
    return min(1.0, tail / (-math.expm1(-mean) if given else 1.0))


def binomial_at_least(count: int, trials: int) -> float:
    """P(X ≥ count) of so many tosses of a fair coin."""
    return float(sum(math.comb(trials, number) for number in range(count, trials + 1)) / 2**trials)


def truncated_rate(mean: float) -> float:
    """The Poisson mean under which parts that failed at all failed ``mean`` times on average."""
    if mean <= 1:
        return 0.0
    low, high = 0.0, mean
    while high - low > _PRECISION * mean:
        middle = (low + high) / 2
        low, high = (middle, high) if middle / -math.expm1(-middle) < mean else (low, middle)
    return (low + high) / 2


def poisson_interval(count: int) -> tuple[float, float]:
    """The exact 95 % interval of a Poisson mean after so many events; chi-square by Wilson and Hilferty."""
    low = _half_chi_square(count, -_NORMAL_97_5) if count else 0.0
    return low, _half_chi_square(count + 1, _NORMAL_97_5)


def _half_chi_square(shape: int, quantile: float) -> float:
    root = 1 - 1 / (9 * shape) + quantile / (3 * math.sqrt(shape))
    return float(shape * max(root, 0.0) ** 3)
