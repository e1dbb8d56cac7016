"""A second simulator of the setting of Themis, second by second, to compare the package's with.

It is written from the rules and knows no events: at every step of a quarter of a second it asks what is due, and then
moves every running job on by one step. Nothing is taken from the package but the workload and the rungs of its apps.

Rules. When all jobs of a rung have had their epochs of it, the next one begins. A lot is what one gang holds under one
lease. A job that reaches the end of its rung leaves its lot, unless it continues in the next rung; then it stays where
it is. A lot without a job takes the job of its app that is furthest behind, or is returned at once. Rounds are at whole
minutes, whenever GPUs are on offer and somebody wants some. Leases end at the first round after their term. The job of
a lot that is given to its app again continues in place, after 5 s for the checkpoint. A job that ran before and starts
elsewhere does so after 25 s at a round, after 20 s within a lease. A gang goes where the app had one, else on the
machine on which it leaves least free, else on the smallest holes.

Where the rules leave a choice, this simulator does what the package does. At one moment jobs end first, then apps
arrive, then the round begins. Among equals, the app that came first goes first, the job and the machine with the
smallest number, and the lot that was given first. A machine comes last if the gang would take free GPUs on it that
another job has just left. A gang is moved from several machines to one only if it suffers from being spread. The wait
that a job has not served when its lease ends is dropped: the job continues after 5 s in place or 25 s elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from papers.themis.apps import App, AppTrace

STEP = 0.25
MINUTE = 60


@dataclass(eq=False)
class Job:
    number: int
    had: float = 0.0  # progress, in s on one machine
    goal: float = 0.0  # what it must have had at the end of the rung
    ever_ran: bool = False


@dataclass(eq=False)
class Lot:
    where: dict[int, int]  # machine -> GPUs
    begin: float
    end: float
    job: Job | None = None
    lost: float = 0.0  # time without progress yet to come

    @property
    def local(self) -> bool:
        return len(self.where) == 1


class State:
    def __init__(self, app: App) -> None:
        self.app, self.slow = app, {"vgg16": 2.0, "inception-v3": 1.0}[app.model]
        self.every = [Job(k) for k in range(len(app.loss))]
        self.rungs = list(app.stages)
        self.lots: list[Lot] = []
        self.just_had: list[Lot] = []
        self.held, self.owed = 0.0, Fraction(0)  # GPU-time
        self.overhead = 0.0
        self.next_rung()

    def next_rung(self) -> None:
        """No job is left after the last one."""
        numbers, epochs = self.rungs.pop(0) if self.rungs else ([], [])
        self.jobs = [self.every[k] for k in numbers]
        for job in self.jobs:
            job.goal = epochs[job.number] * self.app.epoch

    def waiting(self) -> list[Job]:
        running = [lot.job for lot in self.lots]
        left = [job for job in self.jobs if job.had < job.goal and job not in running]
        return sorted(left, key=lambda job: (job.had, job.number))


class Naive:
    """One run; `policy` is tiresias or astraea."""

    def __init__(self, workload: AppTrace, policy: str, lease_term: float) -> None:
        self.policy, self.term = policy, lease_term
        self.free = [int(gpus) for gpus in workload.machines]
        self.gpus = sum(self.free)
        self.to_come = [State(app) for app in workload.apps]
        self.all = list(self.to_come)
        self.there: list[State] = []
        self.leases: list[tuple[str, float, float, bool]] = []  # app, begin, end, whether on one machine
        self.now = 0.0

    def run(self) -> tuple[object, ...]:
        """All leases, sorted; of each app its overhead [s]."""
        while self.to_come or self.there:
            for state in list(self.there):
                self.end_jobs(state)
            while self.to_come and self.to_come[0].app.arrival <= self.now:
                self.there.append(self.to_come.pop(0))
            if self.now % MINUTE == 0:
                self.hold_round()
            for state in self.there:
                state.owed += Fraction(self.gpus, len(self.there)) * Fraction(STEP)
                for lot in state.lots:
                    self.step(state, lot)
            self.now += STEP
        return sorted(self.leases), [s.overhead for s in self.all]

    def step(self, state: State, lot: Lot) -> None:
        state.held += state.app.gang * STEP
        if lot.lost > 0:
            lot.lost -= STEP
            state.overhead += STEP
            return
        assert lot.job is not None
        lot.job.had += STEP if lot.local else STEP / state.slow
        assert lot.job.had <= lot.job.goal, "a job ends between two steps: a workload for smaller steps"

    def end_jobs(self, state: State) -> None:
        done = [(lot, lot.job) for lot in state.lots if lot.job is not None and lot.job.had >= lot.job.goal]
        for lot, _ in done:
            lot.job = None
        while state.jobs and all(job.had >= job.goal for job in state.jobs):
            state.next_rung()
        for lot, job in done:
            if job in state.waiting():
                lot.job = job
        for lot, _ in done:
            if lot.job is None:
                if waiting := state.waiting():
                    self.begin(lot, waiting[0], 20.0 if waiting[0].ever_ran else 0.0)
                else:
                    self.take_back(state, lot)
        if not state.jobs:
            assert not state.lots
            self.there.remove(state)

    def begin(self, lot: Lot, job: Job, lost: float) -> None:
        lot.job, lot.lost = job, lost
        job.ever_ran = True

    def take_back(self, state: State, lot: Lot) -> None:
        state.lots.remove(lot)
        for machine, gpus in lot.where.items():
            self.free[machine] += gpus
        self.leases.append((state.app.name, lot.begin, self.now, lot.local))

    def hold_round(self) -> None:
        for state in self.there:
            state.just_had = [lot for lot in state.lots if lot.end <= self.now]
            for lot in state.just_had:
                self.take_back(state, lot)
        if sum(self.free) and any(state.waiting() for state in self.there):
            {"tiresias": self.tiresias, "astraea": self.astraea}[self.policy]()
        for state in self.there:
            state.just_had = []

    def tiresias(self) -> None:
        for _, _, state in sorted((s.held, k, s) for k, s in enumerate(self.there)):  # no two have the same k
            while self.give(state):
                pass

    def astraea(self) -> None:
        share = Fraction(self.gpus, len(self.there))
        term = Fraction(self.term)

        def rho(state: State) -> Fraction:
            granted = state.app.gang * sum(lot.begin == self.now for lot in state.lots)
            return (Fraction(state.held) + granted * term) / (state.owed + share * term)

        while True:
            wanting = [s for s in self.there if s.waiting() and s.app.gang <= sum(self.free)]
            if not wanting:
                return
            assert self.give(min(wanting, key=rho))

    def give(self, state: State) -> bool:
        """One gang for a lease."""
        waiting, gang = state.waiting(), state.app.gang
        if not waiting or sum(self.free) < gang:
            return False
        old = [
            lot for lot in state.just_had if lot.job in waiting and all(self.free[m] >= n for m, n in lot.where.items())
        ]
        in_place = [lot for lot in old if lot.local or state.slow == 1]
        where = None if in_place else self.one_machine(gang)
        if where is None and (in_place or old):
            lot = (in_place or old)[0]
            state.just_had.remove(lot)
            assert lot.job is not None
            job, where, lost = lot.job, lot.where, 5.0
        else:
            job, where, lost = waiting[0], where or self.smallest_holes(gang), 25.0 if waiting[0].ever_ran else 0.0
        for machine, gpus in where.items():
            self.free[machine] -= gpus
            assert self.free[machine] >= 0
        end = self.now + self.term
        if end != float("inf"):
            while end % MINUTE:
                end += STEP
        lot = Lot(where, self.now, end)
        self.begin(lot, job, lost)
        state.lots.append(lot)
        return True

    def one_machine(self, gang: int) -> dict[int, int] | None:
        """The machine on which it leaves least free; machines where it takes GPUs from no other job come first."""
        just_had = [0] * len(self.free)
        for lot in [lot for state in self.there for lot in state.just_had]:
            for machine, gpus in lot.where.items():
                just_had[machine] += gpus
        fits = [(free - just_had[m] < gang, free - gang, m) for m, free in enumerate(self.free) if free >= gang]
        return {min(fits)[2]: gang} if fits else None

    def smallest_holes(self, gang: int) -> dict[int, int]:
        where: dict[int, int] = {}
        while gang:
            holes = [(free, m) for m, free in enumerate(self.free) if free > 0 and m not in where]
            free, machine = min(holes)
            where[machine] = min(free, gang)
            gang -= where[machine]
        return where
