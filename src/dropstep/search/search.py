"""The search: what is selected, what is in the pool, what is dropped, and which moves are possible.

The only mutable state above the model. A search knows no linear algebra and no model by name. Ties, and differences at
rounding level, go to the lowest index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dropstep.models.base import TIE, Bools, Floats, Indices, Model, Scan, Units, additions_of
from dropstep.models.capabilities import StartsFromAll, capability
from dropstep.models.evaluation import FoldMeans, Resampled, SearchEndedError, never
from dropstep.result import Action, NearestMove, PartialTest, Phase, Step, StopReason
from dropstep.search.rules import Permutation, Refusal, Rule, Rules, Significance, Threshold, nearest_move


@dataclass(frozen=True)
class Move:
    """A possible move: the unit, by how much the score would improve (below 0: worsen) if that is known, its test."""

    unit: int
    gain: float = math.nan
    test: PartialTest | None = None


@dataclass(frozen=True)
class NearTie:
    """An addition and the second best one in the same scan; it was better by the share `margin` of its gain."""

    unit: int
    second: int
    gain: float
    second_gain: float
    margin: float


@dataclass(frozen=True)
class Refused:
    """An addition that is significant by the plain test, and not in the tails."""

    unit: int
    p_value: float
    nearest: NearestMove


@dataclass(frozen=True)
class Decision:
    """What the rules decide about the best move of a scan.

    Attributes
    ----------
    move : Move or None
        The move, if one is allowed.
    stop : StopReason or None
        Why none is.
    nearest : NearestMove or None
        The best move that was not allowed.
    tie : NearTie or None
        The move and the second best one, if their gains are comparable.
    refused : tuple of Refused
        Moves that were passed over.
    """

    move: Move | None = None
    stop: StopReason | None = None
    nearest: NearestMove | None = None
    tie: NearTie | None = None
    refused: tuple[Refused, ...] = ()


def addition_of(scan: Scan, at: int) -> Move:
    """The addition of one unit of a scan."""
    return Move(int(scan.units[at]), float(scan.gains[at]), None if scan.tests is None else scan.tests.one(at))


def removal_of(scan: Scan, at: int) -> Move:
    """The removal of one unit of a scan."""
    return Move(int(scan.units[at]), -float(scan.gains[at]), None if scan.tests is None else scan.tests.one(at))


def feasible_gains(scan: Scan) -> Floats:
    """Gains of a scan, minus infinity for what could not enter."""
    return np.where(scan.feasible, scan.gains, -np.inf)


def exceeds(a: float, b: float) -> bool:
    """a > b by more than rounding errors."""
    return a - b > TIE * max(abs(a), abs(b)) if math.isfinite(b) else a > b


def first_best(values: Floats, feasible: Bools, tie: float = TIE) -> int | None:
    """The first of the largest feasible values; values that differ by rounding, relative to the largest, are equal."""
    if not values.size:
        return None
    at = int(values.argmax())
    if not feasible[at]:
        at = int(np.where(feasible, values, -np.inf).argmax())
    best = float(values[at]) if feasible[at] else -math.inf
    if not -math.inf < best < math.inf:  # of scores that are all infinitely bad, the first
        at = at if best > 0 else int(feasible.argmax())
        return at if feasible[at] else None
    if not at:
        return at
    least = float(np.minimum.reduce(values))
    if not -math.inf < least < math.inf:
        least = float(values.min(initial=best, where=np.isfinite(values)))
    equal = values[: at + 1] >= best - tie * (best if best > -least else -least)
    return int((equal & feasible[: at + 1]).argmax())


def near_tie(scan: Scan, at: int, among: Bools) -> NearTie | None:
    """An addition with the second best of some candidates.

    None if gains do not order the candidates, because a test does.
    """
    gain = float(scan.gains[at])
    others = scan.gains.copy() if among is scan.feasible else np.where(among, scan.gains, -np.inf)
    others[at] = -np.inf
    second = int(others.argmax())
    second_gain = float(others[second])  # of what is not feasible it is 0, which is no near tie
    if not gain > 0 or second_gain == -math.inf or not second_gain <= gain * (1 + scan.tie):
        return None
    return NearTie(int(scan.units[at]), int(scan.units[second]), gain, second_gain, (gain - second_gain) / gain)


@dataclass(frozen=True)
class ScoredSet:
    """Units, the included ones among them, in ascending order, and their value, larger is better."""

    units: tuple[int, ...]
    value: float


@dataclass(frozen=True)
class ExhaustiveResult:
    """The best sets of each size, the best of all, and by how much a set that was not examined could be better."""

    sets: tuple[ScoredSet, ...]
    best: ScoredSet
    gap: float


class Search:
    """A selection that can grow and shrink by units (features, or groups of features).

    Invariant: every unit is in exactly one of `selected`, `pool`, `dropped`, excluded.
    """

    def __init__(
        self, model: Model, rules: Rules, units: Units, include: Sequence[int] = (), exclude: Sequence[int] = ()
    ) -> None:
        self.model, self.rules, self.units = model, rules, units
        self.selected: list[int] = []
        self.include, self._n_included = tuple(include), len(include)
        self.n_evaluations = self._n_fits = self.n_spared = 0  # spared: gains of dropped candidates, per scan
        self.stop: StopReason | None = None
        self.nearest: NearestMove | None = None  # what the rules refused last: for `stop` ENTER and LEAVE
        self._test = rules.enter if isinstance(rules.enter, Significance) else None
        self._by_p_value = isinstance(rules.enter, Significance | Permutation)
        self._in_pool = np.ones(units.n, dtype=bool)
        self._in_pool[[*include, *exclude]] = False
        self._is_dropped = np.zeros(units.n, dtype=bool)
        self._scan: Scan | None = None  # of the pool, for the current selection
        self._exact: Scan | None = None  # its most promising units, confirmed
        self._stale: Indices = np.empty(0, dtype=np.intp)  # units recalled since that scan
        self.resampled = capability(model, Resampled)
        self._fold_means = capability(model, FoldMeans)
        self._last_gains = np.full(units.n, -np.inf)
        self._visited: set[tuple[frozenset[int], int]] = set()
        self._left_at_once: dict[frozenset[int], set[int]] = {}  # what entered a selection and was the next to leave
        self._last_added: int | None = None
        self.ended: Callable[[], StopReason | None] = never  # why the search is to end now
        self.optimum: ExhaustiveResult | None = None
        self.notes: tuple[str, ...] = ()

        self.closest: NearTie | None = None  # of all additions
        self.refused: dict[int, float] = {}  # p-values in the tails that were too large, by unit

    def copy(self) -> Search:
        """An independent search from the same selection, which counts its own evaluations."""
        other = Search(self.model.copy(), self.rules, self.units, self.include)
        other.selected, other._in_pool = list(self.selected), self._in_pool.copy()
        other._is_dropped = self._is_dropped.copy()
        other._last_gains = self._last_gains.copy()
        return other

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def pool(self) -> Indices:
        """Candidates, by ascending unit."""
        return self._in_pool.nonzero()[0]

    @property
    def dropped(self) -> Indices:
        """Candidates that were dropped, by ascending unit."""
        return self._is_dropped.nonzero()[0]

    @property
    def score(self) -> float:
        return self.model.score

    @property
    def value(self) -> float:
        """The score, signed so that larger is better."""
        return self.model.score if self.model.greater_is_better else -self.model.score

    @property
    def n_fits(self) -> int:
        """Models fitted."""
        return self._n_fits if self.resampled is None else self.resampled.n_fits

    @property
    def size(self) -> int:
        """Number of selected units, without the included ones."""
        return len(self.selected) - self._n_included

    @property
    def full(self) -> bool:
        """True if `max_features` is reached."""
        return self.rules.max_features is not None and len(self.selected) >= self.rules.max_features

    def additions(self) -> Scan:
        """Gains of the candidates, computed once per selection."""
        if self._scan is not None and not self._stale.size:
            return self._scan
        known = self._scan if self.resampled is not None else None
        scan = additions_of(self.model, self.pool if known is None else self._stale)
        self.n_evaluations += scan.n_evaluations if self._scan is None else len(self._stale)
        self._n_fits += scan.n_fits
        self.n_spared += int(np.count_nonzero(self._is_dropped)) if self._scan is None and self.resampled else 0
        if self.model.scans_cost_fits:
            self._last_gains[scan.units] = np.where(scan.feasible, scan.gains, -np.inf)
        self._scan, self._exact = scan if known is None else known.joined(scan), None
        if self._stale.size:
            self._stale = np.empty(0, dtype=np.intp)
        return self._scan

    @property
    def removable(self) -> Indices:
        """Selected units that are not forced in, by ascending unit."""
        removable = np.array(sorted(self.selected), dtype=np.intp)
        return removable[~np.isin(removable, self.include)] if self.include else removable

    def removals(self) -> Scan:
        """Losses of the selected units that may be removed."""
        scan = self.model.removals(self.removable)
        self.count(scan)
        return scan

    # --- decisions ---------------------------------------------------------------------------------------------------

    def best_addition(self) -> Move | None:
        """The best candidate, if it may enter; otherwise None, and `stop` says why."""
        move = self._decide_addition()
        return move if move is not None and self.visit() else None

    def _decide_addition(self) -> Move | None:
        """Record what the rules decide about the best candidate."""
        reason = self._no_room()
        decision = self.entering() if reason is None else Decision(stop=reason)
        self.stop, self.nearest, tie = decision.stop, decision.nearest, decision.tie
        if tie is not None and (self.closest is None or tie.margin < self.closest.margin):
            self.closest = tie
        if decision.refused:
            self.remember(decision.refused)
        return decision.move

    def entering(self) -> Decision:
        """The best candidate that the rules let enter, or why there is none.

        By a test, candidates are tried in the order of their p-values, and only the one that enters is refitted.
        Candidates that are not confirmed in the tails, or whose fit does not converge, are passed over.
        """
        scan, size = self.additions() if self._test is not None else self.confirmed_additions(), self.size + 1
        among, nearest, refused = scan.eligible, None, list[Refused]()
        if self._left_at_once and (out := self._left_at_once.get(frozenset(self.selected))):
            among = among & ~np.isin(scan.units, [*out])
        candidates = among
        while (at := self.best(scan, among)) is not None:
            if not self.rules.enter.justifies_one(scan, at, size):
                nearest = nearest or self._refused_by("add", self.rules.enter, scan, at, size)
                break
            move = self.confirmed_move(scan, at, size)
            if isinstance(move, Move):
                # screening statistics are not gains
                tie = near_tie(scan, at, among) if self.resampled is None and scan.exact else None
                return Decision(move, tie=tie, refused=tuple(refused))
            if move is not None:
                refused.append(move)
                nearest = nearest or move.nearest
            among = among.copy()
            among[at] = False
        stop = StopReason.ENTER if candidates.any() else scan.reason or StopReason.SPAN
        return Decision(None, stop, nearest, refused=tuple(refused))

    def exchanged_move(self, scan: Scan, at: int, without: int) -> Move | Refused | None:
        """The addition of a unit in the place of a selected one, if a test lets it enter; any, if there is no test."""
        if self._test is not None and not self.rules.enter.justifies_one(scan, at, self.size):
            return None
        return self.confirmed_move(scan, at, self.size, without)

    def confirmed_move(self, scan: Scan, at: int, size: int, without: int | None = None) -> Move | Refused | None:
        """The addition of a unit that the rules let enter, confirmed in the tails and, if necessary, by its fit.

        None if its fit does not converge. `size` is the number of selected units with it, without the included ones,
        and `without` the selected unit in whose place it would enter.
        """
        unit, gain, enter = int(scan.units[at]), float(scan.gains[at]), self._test
        test = None if scan.tests is None else scan.tests.one(at)
        if test is not None and enter is not None:
            confirmed, p_value = enter.confirmed(scan, at, size)
            if p_value is not None:
                if not confirmed:
                    features, level = self.units.features([unit]), enter.level_of(size)
                    return Refused(unit, p_value, NearestMove("add", features, "p", p_value, level, gain))
                test = replace(test, confirmed=p_value)
        if not scan.exact:
            exact = self.model.confirm(scan.units[at : at + 1], without)
            self.count(exact)
            if not exact.feasible[0]:
                return None
            gain = float(exact.gains[0])
        return Move(unit, gain, test)

    def remember(self, refused: Iterable[Refused]) -> None:
        """Record additions that were not confirmed in the tails."""
        for one in refused:
            self.refused[one.unit] = one.p_value

    def allowed_additions(self) -> tuple[Scan, Bools, StopReason | None]:
        """A scan of the pool, which candidates may enter, and why none may."""
        reason = self._no_room()
        if reason is not None:
            nothing = np.empty(0, dtype=np.intp)
            return Scan(nothing, np.empty(0), nothing > 0), nothing > 0, reason
        scan = self.confirmed_additions()
        allowed = scan.eligible & self.rules.enter.justifies(scan, self.size + 1)
        if allowed.any():
            return scan, allowed, None
        return scan, allowed, StopReason.ENTER if scan.eligible.any() else scan.reason or StopReason.SPAN

    def raise_if_ended(self) -> None:
        """Raise SearchEndedError if the search is to end now."""
        if (reason := self.ended()) is not None:
            raise SearchEndedError(reason)

    def addition(self, unit: int) -> Move:
        """The addition of a candidate, whatever the rules say."""
        scan = self.confirmed_additions()
        at = int(np.searchsorted(scan.units, unit))
        found = at < len(scan.units) and int(scan.units[at]) == unit
        return addition_of(scan, at) if found else Move(unit)

    def _no_room(self) -> StopReason | None:
        reason = self.model.saturated()
        if reason is StopReason.EXACT:
            return reason
        if not np.logical_or.reduce(self._in_pool):
            return StopReason.POOL
        return StopReason.MAX_FEATURES if self.full else reason

    def confirmed(self, scan: Scan, without: int | None = None) -> Scan:
        """Exact gains of the most promising units, where the scan only screens."""
        if scan.exact or not scan.feasible.any():
            return scan
        order = np.argsort(np.where(scan.feasible, -scan.gains, np.inf), kind="stable")[: int(scan.feasible.sum())]
        exact = self.model.confirm(scan.units[order], without)
        self.count(exact)
        return exact

    def confirmed_additions(self) -> Scan:
        """Exact gains of the most promising candidates, computed once per selection."""
        scan = self.additions()
        if self._exact is None:
            self._exact = self.confirmed(scan)
        return self._exact

    def best(self, scan: Scan, among: Bools | None = None) -> int | None:
        """The first of the largest gains; of the smallest p-values where a test does not order units by their gains."""
        tests, among = scan.tests, scan.eligible if among is None else among
        if self._by_p_value and tests is not None and not tests.ordered_by_gain:
            return first_best(-tests.log_p_values, among)
        return first_best(scan.gains, among, scan.tie)

    def visit(self) -> bool:
        """Record that the search continues from this selection; False if it did before, and would cycle.

        A test does not maximise the score, and differences at rounding level have no consistent sign: both can cause
        cycles. A unit that left at once, because another test decides what leaves, is passed over the next time.
        """
        selection = frozenset(self.selected)
        left_at_once = self._left_at_once.get(selection)
        state = selection, len(left_at_once) if left_at_once else 0
        if state in self._visited:
            self.stop = StopReason.CYCLE
            return False
        self._visited.add(state)
        return True

    def droppable(self, chosen: Move) -> Indices:
        """Candidates, except the chosen one, whose gain in the scan that chose it does not pass `drop`."""
        scan = self.additions()
        justified = self.rules.drop.justifies(scan, self.size + 1)
        if self._exact is not None and self._exact is not scan:
            at = np.searchsorted(scan.units, self._exact.units)
            justified[at] = self.rules.drop.justifies(self._exact, self.size + 1)
        units: Indices = scan.units[~justified & (scan.units != chosen.unit)]
        return units

    def _exact_removals(self) -> Scan:
        scan = self.removals()
        return scan if scan.exact else self.confirmed(replace(scan, gains=-scan.gains))

    def all_removals(self) -> Scan:
        """Exact losses of all selected units that may be removed."""
        scan = self.removals()
        if scan.exact:
            return scan
        scans = [self.model.confirm(scan.units[at : at + 1]) for at in range(len(scan.units))]
        for one in scans:
            self.count(one)
        losses = [float(one.gains[0]) if one.feasible[0] else math.inf for one in scans]
        return replace(scan, gains=np.array(losses), exact=True)

    def cheapest_removal(self) -> Move | None:
        """The selected unit whose removal worsens the score least, regardless of the rules."""
        scan = self._exact_removals()
        at = first_best(-scan.gains, scan.eligible, scan.tie)
        return None if at is None else removal_of(scan, at)

    def best_removal(self) -> Move | None:
        """The least useful selected unit, if it may leave; otherwise None."""
        decision = self._leaving()
        known = self.nearest is not None and isinstance(self.rules.leave, Significance)
        if self.stop is None and decision.nearest is not None and not known:
            self.nearest = decision.nearest
        return decision.move

    def _leaving(self) -> Decision:
        """The least useful selected unit that the rules let leave, or the one that is nearest to it."""
        too_many = self.rules.max_features is not None and len(self.selected) > self.rules.max_features
        leave = self.rules.leave
        if not too_many and self.model.scans_cost_fits and leave == Threshold(-math.inf):
            return Decision()  # no loss is so small: not one fit is needed to know that
        if isinstance(leave, Significance) and not too_many:
            return self._insignificant(leave)
        scan = self._exact_removals()
        tests = scan.tests
        if isinstance(leave, Significance) and tests is not None and not tests.ordered_by_gain:
            at = first_best(tests.log_p_values, scan.eligible)
        else:
            at = first_best(-scan.gains, scan.eligible, scan.tie)
        if at is None:
            return Decision()
        if not too_many and leave.justifies_one(scan, at, self.size):
            return Decision(nearest=self._refused_by("remove", leave, scan, at, self.size))
        return Decision(removal_of(scan, at))

    def _insignificant(self, leave: Significance) -> Decision:
        """The selected unit with the largest p-value, if a test lets it leave.

        Where scans only screen, units are tried in the order of their Wald tests, and the exact tests of the refits
        decide. Wald statistics of large effects are too small (Hauck and Donner 1977), so that the next unit is tried
        while the exact test is significant and Wald's is not.
        """
        scan, size, nearest = self.removals(), self.size, None
        if not scan.units.size:
            return Decision()
        tests, among = leave.tests(scan), scan.eligible
        values = -scan.gains if scan.exact and tests.ordered_by_gain else tests.log_p_values
        while (at := first_best(values, among, scan.tie)) is not None:
            exact, place = scan, at
            if not scan.exact:
                exact, place = self.model.confirm(scan.units[at : at + 1]), 0
                self.count(exact)
            if exact.feasible[place]:
                if not leave.justifies_one(exact, place, size):
                    return Decision(removal_of(exact, place), nearest=nearest)
                nearest = nearest or self._refused_by("remove", leave, exact, place, size)
                if exact is scan or leave.justifies_one(scan, at, size):
                    break
            among = among.copy()
            among[at] = False
        return Decision(nearest=nearest)

    def _refused_by(self, action: Refusal, rule: Rule, scan: Scan, at: int, size: int) -> NearestMove:
        return nearest_move(action, rule, scan, at, size, self.units.features([int(scan.units[at])]))

    def best_move(self) -> tuple[Action, Move] | None:
        """The best single move that the rules allow, an addition or a removal."""
        addition, removal = self._decide_addition(), self.best_removal()
        if (addition is None and removal is None) or not self.visit():
            return None
        if removal is None or (addition is not None and not exceeds(removal.gain, addition.gain)):
            assert addition is not None
            return "add", addition
        return "remove", removal

    def start_from_all(self) -> list[int]:
        """Units of the pool, in order, without those that depend on others."""
        pool = self.pool
        model = capability(self.model, StartsFromAll)
        return pool.tolist() if model is None else model.independent(pool)

    def fits_saved(self) -> dict[str, int]:
        """Fits that were not necessary, by what saved them; nothing where gains cost no fits."""
        if self.resampled is None:
            return {}
        return {"dropping": self.n_spared * self.resampled.n_folds, **self.resampled.fits_saved}

    # --- after the search --------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Free what the model kept for the next additions; no more will be made."""
        self.model.release()

    def ranking(self) -> tuple[int, ...]:
        """1 for the first that entered, and so on; then the others by the gain they would bring; excluded ones last.

        Where scans cost fits, the others are ranked by the gain they had when they were last evaluated.
        """
        candidates = (self._in_pool | self._is_dropped).nonzero()[0]
        gains = self._last_gains[candidates]
        if not self.model.scans_cost_fits:
            gains = np.zeros(candidates.size)
            if candidates.size and self.model.saturated() is None:
                scan = self._scan
                if scan is None or scan.units.size < candidates.size:
                    self.release()
                    scan = additions_of(self.model, candidates)
                gains = feasible_gains(scan)
        others = candidates[(-gains).argsort(kind="stable")]
        n_selected = len(self.selected)
        n_ranked = n_selected + others.size
        ranks = np.full(self.units.n, n_ranked + 1)
        ranks[self.selected] = np.arange(1, n_selected + 1)
        ranks[others] = np.arange(n_selected + 1, n_ranked + 1)
        return self.units.to_features(ranks)

    # --- steps -------------------------------------------------------------------------------------------------------

    def start(self, units: Sequence[int]) -> Step:
        """Select units at the start."""
        return self._moved("start", "add", units)

    def add(self, move: Move, phase: Phase) -> Step:
        """Select the unit of a move."""
        self._last_added = move.unit
        return self._moved(phase, "add", [move.unit], move)

    def remove(self, move: Move, phase: Phase) -> Step:
        """Return the unit of a move to the pool."""
        if self.stop is StopReason.MAX_FEATURES and phase == "backward":
            self.stop = None
        step = self._moved(phase, "remove", [move.unit], move)
        if self._last_added == move.unit:
            self._left_at_once.setdefault(frozenset(self.selected), set()).add(move.unit)
        self._last_added = None
        return step

    def follow(self, other: Search, moves: Sequence[Move]) -> Iterator[Step]:
        """Make the additions that led another search to its selection, and end as it ended."""
        self._last_gains = other._last_gains
        for move in moves:
            yield self.add(move, "forward")
        self.stop = other.stop

    def absorb(self, other: Search) -> None:
        """Count what another search evaluated, and record what it refused."""
        self.n_evaluations += other.n_evaluations
        self._n_fits += other._n_fits
        self.refused |= other.refused

    def drop(self, units: Indices, phase: Phase) -> Step:
        """Remove candidates, which ascend, from the pool until they are recalled."""
        self._in_pool[units], self._is_dropped[units] = False, True
        return self._pool_step(phase, "drop", units)

    def recall(self, phase: Phase) -> Step:
        """Return every dropped candidate to the pool."""
        units = self._stale = self.dropped
        self._in_pool[units], self._is_dropped[units] = True, False
        return self._pool_step(phase, "recall", units)

    def _pool_step(self, phase: Phase, action: Action, units: Indices) -> Step:
        features = self.units.features(units.tolist())
        return self._step(phase, action, features if self.units.members is None else tuple(sorted(features)), 0.0)

    def _step(
        self, phase: Phase, action: Action, features: tuple[int, ...], gain: float, test: PartialTest | None = None
    ) -> Step:
        std_error = None if self._fold_means is None else self._fold_means.score_std_error
        pool = self._in_pool.nonzero()[0].size
        return Step(phase, action, features, gain, self.model.score, pool, test, std_error)

    def _moved(self, phase: Phase, action: Action, units: Sequence[int], move: Move | None = None) -> Step:
        """Add or remove units: those of a move, or all that a search starts from.

        The gain that a scan computed has more digits than a difference of scores, unless the two disagree, as they do
        for a nearly exact fit.
        """
        before, gain, test = self.model.score, math.nan, None
        if move is not None:
            gain, test = move.gain, move.test
        if action == "add":
            self.model.add(units)
            self.selected += units
        else:
            self.model.remove(units)
            self.selected.remove(units[0])
        self._in_pool[list(units)] = action == "remove"
        self._scan = self._exact = None
        after = self.model.score
        difference = 0.0 if after == before else after - before if self.model.greater_is_better else before - after
        rounding = TIE * max(before, -before, after, -after)
        if not -rounding <= gain - difference <= rounding:
            gain = difference
        return self._step(phase, action, self.units.features(units), gain, test)

    def count(self, scan: Scan) -> None:
        """Count what a scan evaluated."""
        self.n_evaluations += scan.n_evaluations
        self._n_fits += scan.n_fits
