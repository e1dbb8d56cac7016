"""Gavel's evaluation: its grids, their jobs, knowledge of placement, and stored columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from gavel_small import hours, pair, workload
from synthetic_traces import synthetic

from astraea.core.errors import InputError
from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import Result
from astraea.experiments.archive import pack, reduced, unpack
from astraea.traces.trace import Trace
from papers.gavel.generators import from_trace
from papers.gavel.policies import POLICIES, get_policy
from papers.gavel.simulate import simulate
from papers.gavel.study import physical, runs, tables, tenants
from papers.gavel.study.cells import READ
from papers.gavel.study.policies import answer, moment
from papers.gavel.study.runs import belief
from papers.gavel.throughputs.table import Throughputs

COMPACT = Throughputs.compact()
SIZE = runs.GAVEL_SCALES["small"]

#: gangs of two: "close" needs a server of its own, "loose" does not; each is also there on one GPU
TWO = Throughputs(
    name="two",
    configurations=(("close", 1), ("close", 2), ("loose", 1), ("loose", 2)),
    solo=np.array([[[2.0], [4.0], [2.0], [4.0]], [[2.0], [1.0], [2.0], [4.0]]]),
    shared=np.zeros((2, 4, 4, 2, 1)),
    measured=np.ones((2, 4, 4), np.bool_),
    types=("v100",),
)


@pytest.mark.parametrize("figure", runs.FIGURES)
def test_a_figure_has_each_policy_at_each_load_and_seed(figure):
    trace, names = runs.FIGURES[figure]
    grid = runs.load_grid(figure, SIZE, COMPACT)
    load = SIZE.multiple if trace.endswith("multiple") else SIZE.single
    assert load is SIZE.load(trace)
    assert set(grid.index) == {"figure", "policy", "jobs_per_hour", "seed"}
    assert len({run.key for run in grid.runs}) == len(grid.index) == len(names) * len(load.rates) * SIZE.seeds
    assert not grid.index.duplicated().any()
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert run.arguments.policy == row.policy and run.arguments.policy in POLICIES
        jobs = run.arguments.workload
        assert jobs.name == trace
        until = load.before[load.rates.index(row.jobs_per_hour)] + load.measured
        assert len(jobs) > until == run.arguments.options.until
        assert (jobs.weight.max() > 1) == (figure == "gavel20")
        assert jobs.scale_factor.max() <= max(run.arguments.workers)
    if figure == "gavel09":
        part = runs.ltgf_grid(SIZE, COMPACT)
        assert {run.key for run in part.runs} < {run.key for run in grid.runs}
        assert set(part.index["policy"]) == set(runs.BESIDE_LTGF) and len(part.runs) == len(part.index)


def test_the_scale_paper_is_the_papers():
    size = runs.GAVEL_SCALES["paper"]
    assert (size.workers, size.seeds) == (36, 3)
    for load in (size.single, size.multiple):
        assert len(load.rates) == 5 and set(load.before) == {4000} and load.measured == 1000
    assert 2.4 in size.multiple.rates  # of claim C6


def test_further_grids():
    makers = (
        runs.makespan_grid, runs.cost_grid, runs.rounds_grid, runs.ideal_grid, runs.estimates_grid, runs.servers_grid,
        runs.mixed_grid,
    )  # fmt: skip
    batch, bills, rounds, ideal, estimates, servers, mixed = grids = [make(SIZE, COMPACT) for make in makers]
    assert all(len({run.key for run in grid.runs}) == len(grid.runs) for grid in grids)
    assert set(batch.index["jobs"]) == set(SIZE.static)
    assert all((run.arguments.workload.arrival_time == 0).all() for run in batch.runs)
    assert {"fifo", "gandiva", "makespan-het", "makespan-het-ss"} <= set(batch.index["policy"])
    assert list(bills.index["policy"]) == ["max-throughput", "min-cost", "min-cost-slo"] * SIZE.seeds
    assert all(np.isfinite(run.arguments.workload.slo).all() for run in bills.runs)
    assert all(min(run.arguments.workers) >= len(run.arguments.workload) for run in bills.runs)
    assert {run.arguments.options.round_length for run in rounds.runs} == set(runs.ROUND_LENGTHS)
    assert set(rounds.index["jobs_per_hour"]) == set(SIZE.single.rates)
    assert {run.arguments.options.preemption_overhead for run in (*rounds.runs, *ideal.runs)} == {0.0}
    assert set(ideal.index["policy"]) == {"rounds", "ideal"}
    assert set(estimates.index["policy"]) == {"oracle", "estimated", "estimated-known", "none"}
    assert {run.arguments.workers for run in estimates.runs} == {(4, 4, 4)}
    rates = len(SIZE.fewer().multiple.rates)
    assert len(servers.runs) == rates * len(runs.SERVERS) and len(mixed.runs) == rates * len(runs.TOLD)
    assert {run.arguments.options.server_gpus for run in servers.runs} == set(runs.SERVERS)
    for run, told in zip(mixed.runs, mixed.index["told"], strict=True):
        assert run.arguments.policy in POLICIES and sum(run.arguments.workers) == 3 * max(SIZE.workers, 16)
        assert (run.arguments.believed is None) == (told == "aware")


def test_every_measure_gives_the_same_of_what_is_kept():
    run = runs.cost_grid(SIZE, COMPACT).runs[0]
    function, *arguments = run.call
    whole = function(*arguments)
    kept = unpack(pack(reduced(whole, run.keep)))
    measures = (
        summary, tenant_windows, lambda result: tables.steady(result.jobs), lambda result: tables.by_gang(result.jobs),
        tables.bill, tenants.both_papers, physical.objectives,
    )  # fmt: skip
    for measure in measures:
        found, expected = ({k: np.asarray(v) for k, v in measure(result).items()} for result in (kept, whole))
        np.testing.assert_equal(found, expected)
    assert tuple(kept.jobs) == READ["jobs"] and len(pack(kept)) < len(pack(whole))


def test_each_type_is_there_twice():
    split = COMPACT.by_placement()
    assert split.types == (*COMPACT.types, *(f"{name}_unconsolidated" for name in COMPACT.types))
    for kind, size in COMPACT.configurations:
        placed = [COMPACT.alone(kind, size, consolidated=consolidated) for consolidated in (True, False)]
        assert split.alone(kind, size).tolist() == np.concatenate(placed).tolist()
        assert split.alone(kind, size, consolidated=False).tolist() == np.concatenate(placed).tolist()
    one, other = COMPACT.configurations[0], COMPACT.configurations[5]
    assert pair(split, one, other)[:, 3:].tolist() == COMPACT.shared[1, 0, 5].tolist()


@pytest.mark.parametrize("policy", ["las-het", "ftf-het", "makespan-het", "ltgf-het"])
def test_a_policy_gives_servers_to_gangs_that_need_them(policy):
    jobs = workload([("loose", 2, 14_400, 0), ("close", 2, 14_400, 0)])
    result = simulate(jobs, TWO.by_placement(), (2, 2), get_policy(policy), preemption_overhead=0.0)
    assert result.jobs["jct"].tolist() == [3600, 3600]


def test_who_is_told_nothing_takes_the_wrong_ones():
    believed = {told: belief(TWO, told) for told in runs.TOLD}
    assert {told: table.alone("close", 2).tolist() for told, table in believed.items()} == {
        "aware": [4.0, 1.0], "blind": [4.0, 4.0], "strict": [4.0, 0.0],
    }  # fmt: skip
    assert believed["strict"].alone("loose", 1).tolist() == [2.0, 2.0]
    jobs = workload([(kind, 2, 14_400 * k, 0) for k in (3, 4, 5) for kind in ("loose", "close")])
    split, las = TWO.by_placement(), get_policy("las-het")
    blind, aware = (simulate(jobs, split, (2, 2), las, believed=believed[told]) for told in ("blind", "aware"))
    assert aware.jobs["jct"].mean() < blind.jobs["jct"].mean()


def test_shared_capacity_leaves_nothing_to_decide():
    """One type twice with all GPUs each is more than the cluster has, and still no job asks for the slower one."""
    split = TWO.by_placement()
    problem = moment([split.alone("close", 2), split.alone("close", 1)], [4, 4], scale_factor=np.array([2, 1]))
    assert answer("las-het", problem).alone[0, 1] == 0


@pytest.mark.parametrize("trace", physical.SHAPES)
def test_drawn_jobs_of_the_physical_cluster_have_the_shape(trace):
    shape = physical.SHAPES[trace]
    many = [physical.physical(trace, COMPACT, seed=seed) for seed in range(20)]
    assert all(len(w) == shape.jobs and w.arrival_time[0] == 0 for w in many)
    gang = np.concatenate([w.scale_factor for w in many])
    assert [np.mean(gang == g) for g in physical.GANGS] == pytest.approx(shape.gangs, abs=0.05)
    every = np.concatenate([hours(w) for w in many])
    assert shape.shortest <= every.min() < every.max() <= shape.longest
    assert every.mean() == pytest.approx((shape.shortest + shape.longest) / 2, rel=0.03)
    if shape.rate:
        spans = [(len(w) - 1) / w.arrival_time[-1] * 3600 for w in many]
        assert np.mean(spans) == pytest.approx(shape.rate, rel=0.1)
    else:
        assert all((w.arrival_time == 0).all() for w in many)
    assert (many[0].total_steps != many[1].total_steps).any()


def test_table_3():
    grid = physical.table3_grid("small")
    assert {run.arguments.workers for run in grid.runs} == {physical.CLUSTER}
    assert {run.arguments.options.round_length for run in grid.runs} == {physical.ROUND}
    assert len(grid.runs) == len(physical.TABLE3)
    found = grid.index.assign(**{"Average JCT": np.arange(4.0), "Makespan": 10 + np.arange(4.0)})
    found = pd.concat([found, found.assign(seed=1, **{"Average JCT": 9.0, "Makespan": 9.0})])
    shown = physical.table3(found).set_index("policy")
    assert list(shown["paper"]) == [3.4, 5.2, 17.9, 21.9]
    assert shown["authors"].isna().all()
    las, gandiva = (found[found["policy"] == name] for name in ("las", "gandiva"))
    assert shown.loc["las", ["low", "high"]].tolist() == [las["Average JCT"].min(), 9.0]
    assert shown.loc["gandiva", "drawn"] == gandiva["Makespan"].mean()
    with pytest.raises(InputError, match="no such folder"):
        physical.table3_grid("small", "", "nowhere")


def test_the_authors_traces_give_the_papers_numbers(shared):
    data = shared / "data" / "gavel"
    grid = physical.table3_grid("small", str(data / "simulation_throughputs.json"), str(data / "physical_cluster"))
    shown = physical.table3(grid.table(physical.objectives)).set_index("policy")
    ratio = shown["authors"] / shown["paper"]
    assert ratio[["las-het", "makespan-het"]].to_numpy() == pytest.approx(1.0, abs=0.06)
    # LAS does not care which of its many optima it has, and types do
    assert ratio["las"] == pytest.approx(1.0, abs=0.25)
    # Gandiva's packing is a search at random
    assert ratio["gandiva"] == pytest.approx(1.0, abs=0.15)


def test_tenants_have_every_kth_job_of_the_whole_trace():
    philly = synthetic("philly")
    whole, kept = from_trace(philly, COMPACT, seed=0), tenants.tenant_jobs(philly, COMPACT, "paper", 0)
    assert abs(len(kept) - tenants.JOBS) <= 0.05 * tenants.JOBS
    assert kept.arrival_time[-1] > 0.98 * whole.arrival_time[-1]
    assert kept.entity_weight.tolist() == philly.tenant_weight.tolist()
    row = {job: i for i, job in enumerate(whole.job_id)}
    where = np.array([row[job] for job in kept.job_id])
    assert set(np.diff(where)) == {where[1] - where[0]}
    for column in ("total_steps", "arrival_time", "entity", "scale_factor"):
        np.testing.assert_array_equal(getattr(kept, column), getattr(whole, column)[where])
    each, load = tenants.equal_workers(kept, COMPACT), tenants.effective_load(kept, COMPACT)
    assert each > kept.scale_factor.max()
    assert load / (3 * each) <= tenants.LOAD < load / (3 * (each - 1))
    small = tenants.tenant_jobs(philly, COMPACT, "small", 0)
    assert small.job_id == kept.job_id[: tenants.SMALL_JOBS]


def test_load_by_hand():
    columns = {"job_id": ["a", "b"], "tenant": ["x", "y"], "demand": [2, 1], "submit_time": [0.0, 7200.0]}
    jobs = from_trace(Trace.from_frame(pd.DataFrame({**columns, "duration": [1800.0, 600.0]})), COMPACT, seed=0)
    speed = COMPACT.alone(jobs.job_type[0], 2)
    # the second job arrives at the end; the first is done before, on its mean speed too or not
    busy = min(1800.0 * speed[0] / speed.mean(), 7200.0)
    assert tenants.effective_load(jobs, COMPACT) == pytest.approx(2 * busy / 7200)
    assert tenants.equal_workers(jobs, COMPACT) == 2


def test_tenants_are_measured_on_the_same_jobs_for_every_policy():
    results = []

    def kept(result: Result):
        results.append(result)
        return tenants.both_papers(result)

    grid = tenants.tenants_grid("small")
    assert list(grid.index["policy"]) == list(tenants.POLICIES) and set(tenants.POLICIES) <= set(POLICIES)
    assert len({id(run.arguments.workload) for run in grid.runs}) == len(grid.index["seed"].unique()) == 1
    assert len(grid.runs[0].arguments.workload.entity_weight) == 15
    table = grid.table(kept)
    done = [(r.jobs["effective_service"]).sum() for r in results]
    assert done == pytest.approx([done[0]] * len(tenants.POLICIES))
    names = ("sharing_loss", "tenant_sharing_loss", "tenant_sharing_loss_95")
    shares = table.filter(like="sharing_loss")
    assert list(shares) == [*names, *(f"effective_{name}" for name in names)]
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert (table["tenant_sharing_loss_95"] <= table["tenant_sharing_loss"]).all()
    assert (table["p99_jct"] >= table["average_jct"]).all()

    counted = tenants.in_effective_time(results[0])
    assert (counted.jobs["rho_job"] == results[0].jobs["rho_effective"]).all()
    assert results[0].jobs["rho_job"].ne(results[0].jobs["rho_effective"]).any()
    windows = tenant_windows(counted)
    assert (windows["fair_service"] == tenant_windows(results[0])["fair_service"]).all()
    line = results[0].timeline.pivot_table(index="time", columns="tenant", values="effective_service")
    first = windows[windows["window_start"] == 3600.0].set_index("tenant")["attained_service"]
    assert first.to_numpy() == pytest.approx((line.loc[25 * 3600.0] - line.loc[3600.0])[first.index].to_numpy())


def test_tenants_of_another_trace(shared):
    data = shared / "data"
    measured = data / "gavel" / "simulation_throughputs.json"
    grid = tenants.tenants_grid("small", str(measured), str(data / "philly-gavel"))
    jobs = grid.runs[0].arguments.workload
    assert len(jobs) == tenants.SMALL_JOBS and len(jobs.entity_weight) == 15 and len(np.unique(jobs.entity)) > 5
    with pytest.raises(InputError, match="no such file or folder"):
        tenants.tenants_grid("small", "", "nowhere")
