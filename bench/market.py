"""Time of the market on one core, as lines of a table, beside its limits [s]."""

from __future__ import annotations

from gavel_programs import RUNS, seconds

from astraea.traces.synthetic import synthesize
from papers.market.model import Market
from papers.market.policies.batches import posted_prices
from papers.market.policies.capacity import demand, empty_round
from papers.market.policies.max_revenue import best_schedule, max_ideal_revenue
from papers.market.workload import sample_market

SLOTS = 512
ONE_JOB = 0.005
EVALUATION = 60.0


def market(jobs: int) -> Market:
    """14 tenants of the synthetic Philly on 100 servers, chunks drawn from 20 to 50."""
    return sample_market(synthesize("philly"), jobs=jobs, seed=0, chunks="drawn")


def schedule_line(jobs: int, runs: int) -> str:
    """Time to find a schedule among all starts and numbers of workers, after half of the jobs have one; the slowest."""
    m = market(jobs)
    r = empty_round(m, SLOTS, (1.2, 1.2))
    asking = [(demand(m, j), m.jobs.ideal(j, SLOTS)) for j in range(len(m.jobs))]
    max_ideal_revenue(r, asking[::2], is_shared=True)
    taken = []
    for d, ideal in asking[1::2]:
        inputs = (r, r.everyone, ideal, d)
        taken.append(seconds(lambda inputs=inputs: best_schedule(*inputs), runs))
    what = f"one schedule, 100 servers, {SLOTS} slots, slowest of {len(taken)} jobs"
    return f"| {what} | {max(taken):.5f} | {ONE_JOB:g} |"


def evaluation_lines(plans: tuple[int, ...], runs: int) -> list[str]:
    """Time of a whole plan, as written (lambda of Lemma 1, feasible theta)."""
    out = []
    for jobs in plans:
        m = market(jobs)
        taken = seconds(lambda m=m: posted_prices(m), runs)
        out.append(f"| plan of {jobs:,} jobs, 14 tenants, 100 servers | {taken:.2f} | {EVALUATION:g} |")
    return out


def lines(plans: tuple[int, ...] = (250, 500, 1000), runs: int = RUNS) -> list[str]:
    """The table."""
    head = ["| what | seconds | at most |", "| --- | --- | --- |"]
    return [*head, schedule_line(min((100, *plans)), runs), *evaluation_lines(plans, runs)]


if __name__ == "__main__":
    print("\n".join(lines()))
