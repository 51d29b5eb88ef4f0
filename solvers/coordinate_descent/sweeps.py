"""Sweeps of dual coordinate descent (`solver.py`), and what a pass over all rows tells about them.

    max sum_i a_i - 1/2 ||w(a)||^2 - 1/2 sum_i c_i a_i^2,  0 <= a_i <= u_i,   w(a) = sum_i a_i y_i x_i

Rows at work are listed in at_work; place says where each lies in `rows`, the data or a copy of some of them.
"""

import numpy as np
from numba import njit

from marginbench.harness.rowops import FAST, add, dot, norm2


@njit(cache=True, fastmath=False)
def shuffle(order, active, bits):
    """Fisher-Yates on order[:active] with Marsaglia's xorshift, whose state is bits[0]."""
    x = bits[0]
    for k in range(active - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        j = np.int64(((x >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]
    bits[0] = x


@njit(cache=True, fastmath=FAST)
def term(a, slack, u, c, q):
    """l(slack) - a slack + c a^2 / 2 >= 0, the share of a row in P - D.

    At the hard margin l has slope u = inf; twice the present multiplier stands for it, and 1 for a row of zeros.
    """
    if slack <= 0.0:
        return 0.5 * c * a * a - a * slack
    best = min(slack / c, u) if c > 0.0 else u if u < np.inf else 2.0 * a + (1.0 / q if q > 0.0 else 1.0)
    return (best - a) * (slack - 0.5 * c * (best + a))


@njit(cache=True, fastmath=False)
def sweeps(
    rows, y, upper, curvature, q, alpha, w, b, rho, at_work, place, active, run, high, low, bits, budget, end, estimates
):
    """Epochs until `budget` rows are visited, the estimate is below `end` or all of `estimates` are known.

    Returns how many, the rows visited, how many became free or bound in the last epoch, and the new `active`, `high`,
    `low` and b.
    """
    count, visited, changes = 0, 0, 0
    while count == 0 or (count < estimates.size and visited + active <= budget and active > 0):
        visited += active
        runs = np.arange((active + run - 1) // run)
        shuffle(runs, runs.size, bits)
        active, largest, smallest, estimates[count], changes, b = epoch(
            rows, y, upper, curvature, q, alpha, w, b, rho, at_work[:active], place, runs, run, high, low
        )
        high, low = largest if largest > 0.0 else np.inf, smallest if smallest < 0.0 else -np.inf
        count += 1
        if estimates[count - 1] <= end < np.inf:
            break
    return count, visited, changes, active, high, low, b


@njit(cache=True, fastmath=FAST)
def length_at_bound(rows, y, upper, w, count):
    """About ||w(u)||^2 / sum_i u_i, from `count` rows spread over all; inf where so few cannot tell. w: 0, and left so.

    It is at most n times the mean of u_i ||x_i||^2. From 1 on, a part of u has a larger D than u.
    """
    n, total, reach, own = y.size, 0.0, 0.0, 0.0
    for k in range(count):
        i = k * n // count
        q = upper[i] * norm2(rows, i)
        total, reach, own = total + upper[i], reach + q, own + upper[i] * q
    most = n * reach / count
    if most <= 0.5 or total <= 0.0:
        return most
    if most > 0.5 * count:
        return np.inf
    for k in range(count):
        i = k * n // count
        add(rows, i, upper[i] * y[i], w)
    both = 0.0
    for j in range(w.size):
        both += w[j] * w[j]
    for j in range(w.size):
        w[j] = 0.0
    return ((both - own) * n / count + own) / total


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, upper, curvature, q, alpha, w, b, rho, at_work, place, runs, run, high, low):
    """One sweep over `at_work`, run by run; rows that come to rest leave it.

    Returns how many stay, the largest and smallest projected gradient, the estimate of the gap, how many became free or
    bound, and b.
    """
    largest, smallest, estimate, changed, active = -np.inf, np.inf, 0.0, 0, 0
    for start in runs:
        for s in range(start * run, min((start + 1) * run, at_work.size)):
            i = at_work[s]
            a, u, c = alpha[i], upper[i], curvature[i]
            r = place[s]
            slack = 1.0 - y[i] * (dot(rows, r, w) + b)
            g = c * a - slack
            empty, full = a <= 0.0, a >= u  # joined by & and |: a branch on each would be guessed wrong too often
            if (empty & (g > high)) | (full & (g < low)):
                at_work[s] = -1
                continue
            if q[i] < 0.0:
                q[i] = norm2(rows, r)
            projected = 0.0 if (empty & (g > 0.0)) | (full & (g < 0.0)) else g
            largest, smallest = max(largest, projected), min(smallest, projected)
            if c == 0.0 and u < np.inf:  # the hinge's term, without its branches
                estimate += ((u if slack > 0.0 else 0.0) - a) * slack
            else:
                estimate += term(a, slack, u, c, q[i])
            if projected != 0.0:
                h = q[i] + c + rho
                if h > 0.0:
                    new = min(max(a - g / h, 0.0), u)
                else:  # a row of zeros goes to its bound; at the hard margin it grows, which proves it inseparable
                    new = 0.0 if g >= 0.0 else u if u < np.inf else a + 1.0
                change = (new - a) * y[i]
                if change != 0.0:
                    alpha[i] = new
                    changed += (0.0 < a < u) != (0.0 < new < u)
                    add(rows, r, change, w)
                    b += rho * change
    for s in range(at_work.size):
        if at_work[s] >= 0:
            at_work[active], place[active] = at_work[s], place[s]
            active += 1
    return active, largest, smallest, estimate, changed, b


@njit(cache=True, fastmath=FAST, nogil=True)
def survey(rows, y, upper, curvature, q, alpha, w, b, path, seen, m, high, low, at_work, read, start, end):
    """Of the rows from `start` to before `end` those that are not at rest, and the gap, in storage order.

    m_i is the margin as of the w at which row i was last read, and w has since moved by path - seen_i at most, m_i by
    ||x_i|| times that. A row that is at rest whatever its margin in between is passed over; its share of the gap is 0.
    Returns the rows, listed in at_work from `start` on, those that were read, in the same places of `read`, the gap,
    sum_i a_i m_i of those that were read, and the bounds on t within which no row passed over has t m_i = 1.
    """
    active, gap, count, pulled, shortest, longest = start, 0.0, start, 0.0, 0.5, 2.0
    for i in range(start, end):
        a, u, c, way = alpha[i], upper[i], curvature[i], path - seen[i]
        g = c * a - 1.0 + m[i]
        if a <= 0.0 and g > high and q[i] >= 0.0 and (g - high) ** 2 > q[i] * way**2:
            shortest = max(shortest, 1.0 / (1.0 + high))
            continue
        if a >= u and g < low and q[i] >= 0.0 and (g - low) ** 2 > q[i] * way**2:
            longest = min(longest, 1.0 / (1.0 + low)) if low > -0.5 else longest
            continue
        if q[i] < 0.0:
            q[i] = norm2(rows, i)
        m[i], seen[i] = y[i] * (dot(rows, i, w) + b), path
        read[count], count = i, count + 1
        slack = 1.0 - m[i]
        gap += term(a, slack, u, c, q[i])
        pulled += a * m[i]
        if not ((a <= 0.0 and c * a - slack > high) or (a >= u and c * a - slack < low)):
            at_work[active] = i
            active += 1
    return at_work[start:active], read[start:count], gap, pulled, shortest, longest
