"""What the gallery says of every figure, and which statements of the papers stand below it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A figure: what it shows, what the paper says of it, and how the identifiers of its statements begin."""

    id: str
    title: str
    paper: str
    claims: tuple[str, ...]


ENTRIES: Final = (
    Entry("table1", "Table 1: how long jobs run",
          "Two jobs in five (Philly) or two in three (Venus) are over within ten minutes; a few run for days (§1).",
          ("ye.t1.",)),
    Entry("fig01", "Fig 1: GPUs that jobs ask for",
          "Half of the jobs want one GPU, a fifth want eight; many are cancelled or fail, whatever their size (§3.1).",
          ("ye.s31.", "ye.f1.")),
    Entry("fig02", "Fig 2: GPU service time by demand",
          "Single-GPU jobs are the most, yet take a twentieth of the GPU time; jobs of eight GPUs and more take nearly "
          "all of it (§3.1).", ("ye.f2.",)),
    Entry("fig03", "Fig 3: running time and service time",
          "Running times have a long tail, and jobs with more GPUs run longer (§3.1).", ("ye.f3.",)),
    Entry("fig04", "Fig 4: utilization of two virtual clusters",
          "One tenant's GPUs lie idle while another's are all in use, and some days later it is the other way round "
          "(§3.1).", ("ye.f4.",)),
    Entry("fig05", "Fig 5: pending time and slowdown under FIFO",
          "First in, first out lets long jobs block the head of the line: some jobs wait far longer than they run, "
          "large ones above all (§3.2).", ("ye.f5.",)),
    Entry("fig06", "Fig 6: three ideas of fairness on six GPUs",
          "Equal finish times give the job with the large gang half of all GPU time; equal GPU time over the long run "
          "gives each of three jobs a third (§4.1).", ("ye.f6.",)),
    Entry("fig09", "Fig 9: length of a lease",
          "Longer leases cost less overhead and give less fairness; the average completion time is lowest near 20 "
          "minutes, and 15 minutes are nearly as good (§6.2, §6.4).", ("ye.f9.", "ye.s64.")),
    Entry("fig10", "Fig 10: fairness of jobs",
          "ASTRAEA leaves the fewest jobs with less than 95 % of their fair share, and its lead is larger in Philly "
          "(§6.3).", ("ye.f10.",)),
    Entry("fig11", "Fig 11: fairness of tenants",
          "Under ASTRAEA nearly every tenant gets what it is owed nearly all the time; under Tiresias-L and YARN-CS "
          "half of the cases fall short (§6.3).", ("ye.f11.",)),
    Entry("fig12", "Fig 12: slowdown",
          "Jobs wait least under ASTRAEA, compared with how long they run (§6.4).", ("ye.f12",)),
    Entry("fig13", "Fig 13: average job completion time",
          "ASTRAEA has the lowest average completion time (§6.4).", ("ye.f13",)),
    Entry("fig14", "Fig 14: size of the cluster",
          "ASTRAEA is ahead of Tiresias-L at every size, and both gain from a larger cluster (§6.5).", ("ye.f14",)),
)  # fmt: skip
"""Every figure of [Ye2022] that is reproduced, in the order of the paper; the sentences are a summary of it."""

GAVEL_ENTRIES: Final = (
    Entry("gavel-examples", "Gavel §4.1 and §4.3: worked examples",
          "Max-min fairness of effective throughputs gives three jobs 10 % more than equal shares; water filling then "
          "gives what is left to those that can use it.", ("gavel.s41", "gavel.s43")),
    Entry("gavel08", "Gavel Fig 8: least attained service, one GPU each",
          "A policy that knows which job is how fast where sustains a higher load, and packs better than trial and "
          "error (§7.3).", ("gavel.f8.",)),
    Entry("gavel09", "Gavel Fig 9: least attained service, gangs",
          "The same holds for gangs, by a smaller factor (§7.3).", ("gavel.f9.",)),
    Entry("gavel10", "Gavel Fig 10: finish-time fairness, gangs",
          "Average completion times fall by 3 times, finish-time fairness by 2.8 times (§7.3).", ("gavel.f10.",)),
    Entry("gavel11", "Gavel Fig 11: fairness in two levels",
          "Entities get their weights, and jobs theirs inside; a static partition does a sixth less work (§7.3).",
          ("gavel.f11",)),
    Entry("gavel12", "Gavel Fig 12: time to solve",
          "Within ten minutes for 2,048 jobs in two levels, and for 512 that may share GPUs (§7.4).", ("gavel.f12.",)),
    Entry("gavel13", "Gavel Fig 13: rounds",
          "Rounds of six minutes come close to an ideal execution, and longer ones do not help (§7.5).",
          ("gavel.f13",)),
    Entry("gavel14", "Gavel Fig 14: estimated throughputs",
          "What jobs do to each other can be estimated well enough from a few measurements (§7.6).", ("gavel.f14",)),
    Entry("gavel16", "Gavel Fig 16: FIFO, one GPU each",
          "Knowing the types, and more so sharing GPUs, shortens queues at high load (§7.3, A.2).", ("gavel.f16",)),
    Entry("gavel17", "Gavel Fig 17: finish-time fairness, one GPU each", "As Fig 10 (A.2).", ()),
    Entry("gavel18", "Gavel Fig 18: FIFO, gangs", "As Fig 16, with less to gain (A.2).", ()),
    Entry("gavel19", "Gavel Fig 19: makespan",
          "A batch is done in 40 % of the time that FIFO takes (§7.3).", ("gavel.f19.",)),
    Entry("gavel20", "Gavel Fig 20: priorities",
          "Both classes of jobs gain, those of low priority more (§7.3).", ("gavel.f20.",)),
    Entry("gavel21", "Gavel Fig 21: fairness between entities, FIFO inside",
          "Within an entity, jobs that came first are served first (A.2).", ()),
    Entry("gavel-cost", "Gavel §7.3: cost",
          "The cheapest allocation misses a third of the deadlines; the program that knows them misses none and costs "
          "little more.", ("gavel.cost",)),
)  # fmt: skip
"""Every figure of [Narayanan2020] that is reproduced."""

MARKET_ENTRIES: Final = (
    Entry("wang01", "The other Astraea Fig 1: utilization of two tenants",
          "One tenant's GPUs lie idle while another's are all in use, and later it is the other way round (§1).", ()),
    Entry("wang-example", "The other Astraea §4.2 to §4.4: worked example",
          "Two tenants share four servers: each runs one job within its share, one job pays for what is left, and one "
          "is postponed; whoever left resources unused is paid (§4.2-§4.4).", ("wang.eq8", "wang.ex.")),
    Entry("wang04", "The other Astraea Fig 4: total revenue",
          "Astraea earns 1.2 to 1.6 times as much as BatchSche, Gandiva_fair and HiveD, whatever the number of jobs "
          "and servers (§5.2).", ("wang.f4.",)),
    Entry("wang05", "The other Astraea Figs 5 and 6: performance ratio",
          "On small instances Astraea earns more than 0.6 of an offline optimum, and more than the other three "
          "(§5.2).", ("wang.f5", "wang.f6")),
    Entry("wang07", "The other Astraea Figs 7 and 8: revenue fairness",
          "Tenants gain in proportion to what they brought in, with less variance than under Gandiva_fair and HiveD "
          "(§5.2).", ("wang.f7.", "wang.f8")),
    Entry("wang09", "The other Astraea Figs 9 and 10: running time",
          "Planning a job takes about 1.56 s in every setting; the total grows with jobs and servers (§5.2).",
          ("wang.f9",)),
    Entry("wang11", "The other Astraea Fig 11: inaccurate maximal prices",
          "At high load, prices that are too low earn more than prices that are too high (§5.2).", ("wang.f11",)),
    Entry("wang12", "The other Astraea Fig 12: admission",
          "Every admitted job is worth more than what it pays (§5.2).", ("wang.f12",)),
    Entry("wang13", "The other Astraea Fig 13: utilization",
          "Astraea and Gandiva_fair reach full use of the GPUs, and Astraea is done first (§5.2).", ("wang.f13.",)),
    Entry("wang-table2", "The other Astraea Table 2: number of tenants",
          "Revenue per job and the variance of fairness change little with the number of tenants (§5.2).",
          ("wang.t2.",)),
    Entry("wang-properties", "The other Astraea §4.5: properties",
          "Sharing incentive in each interval, strategy-proofness and Pareto efficiency are claimed of the algorithm "
          "(§1, Theorems 4 and 5).", ("wang.prop.",)),
)  # fmt: skip
"""Every figure of [Wang2023] that is reproduced."""

THEMIS_ENTRIES: Final = (
    Entry("themis09", "Themis Fig 9: finish-time fairness",
          "Themis is fair, with a ratio of at most 1.2, and its largest one is lower than those of Tiresias, Optimus, "
          "Gandiva and SLAQ; under Tiresias some apps do very poorly because of where they are placed (notes on §6).",
          ("themis.rho", "themis.max")),
    Entry("themis19", "Themis Fig 19: the fairness knob and the lease",
          "The more apps the knob f filters out, the lower is the largest ratio, and the fewer are the choices, which "
          "costs GPU time; f = 0.8 is a good trade-off; shorter leases are fairer (notes on §6).",
          ("themis.f19.", "themis.f08")),
    Entry("themis-properties", "Themis §3.3: the auction",
          "Partial allocation, among the part 1 - f of the apps that are worst off, is an incentive to report the true "
          "ratio (notes on §3.3).", ("themis.truth",)),
)  # fmt: skip
"""Every figure of [Mahajan2020] of which the notes say something that can be checked."""

FURTHER: Final = {
    "sensitivity": "How much the choice of a lease term hangs on overheads and load (notebook 03).",
    "over-claiming": "What a tenant gains, and the others lose, when it asks for twice the GPUs and uses them at 80 % "
    "efficiency: below 1 it pays (notebook 04; the paper argues it in §4.1.2 and does not measure it).",
    "paid-share": "What a tenant with more load than quota gains, and the others lose, when its weight is doubled: "
    "GPU-time in the hours in which it asks for its whole quota, and completion times (notebook 04).",
    "burst": "A tenant that was idle for days submits four days' worth of its quota at once: how fast the burst is "
    "done, and how much the other tenants lack meanwhile (notebook 04).",
    "waits": "The longest wait of any job, until its first start and in all (notebook 04).",
    "tenants": "ASTRAEA, day by day: which tenant got more (blue) or less (red) than it was owed (notebook 04).",
    "estimates-remaining": "What is left of a job that has run for a while: the longer it ran, the longer it will "
    "still run (notebook 07).",
    "estimates-error": "Estimates of running times against the truth (notebook 07).",
    "estimates-calibration": "Whether the estimates' quantiles are honest, and how they age (notebook 07).",
    "estimates-importance": "What the gradient boosting looks at (notebook 07).",
    "estimates-impact": "What errors of estimates cost AlloX and Themis, next to ASTRAEA, which needs none "
    "(notebook 07).",
    "released-options": "ASTRAEA as written, its options one by one, and as released (notebook 08).",
    "released-neighbour": "The released simulator's skipped neighbour: what it does to leases, and to jobs "
    "(notebook 08).",
    "verification": "Fairness of jobs in runs of the simulator that ASTRAEA's authors released (points) and in the "
    "same runs here (lines): every job ends in the same second (`make verify`).",
    "gavel-placement": "Gangs on one server or on several: LAS het. told the truth, that placement does not matter, or "
    "that gangs must not be spread, on a cluster with large servers and single GPUs (notebook 10).",
    "gavel-table3": "Gavel Table 3, the simulation column: jobs drawn in the shape of the physical experiments "
    "(notebook 10).",
    "gavel-ltgf": "LTGF on unequal GPUs beside LAS, on the jobs of Gavel Fig 9 (notebook 10).",
    "gavel-tenants": "Tenants of Philly on unequal GPUs: LAS, the hierarchy and LTGF in the metrics of both papers; "
    "full marks count effective GPU-time (notebook 10).",
    "gavel-speeds": "How fast each job type is on each type of GPU, and what a dollar buys (notebook 10).",
    "overheads": "Where the time of jobs goes: running, waiting, checkpoints and restarts (notebook 05).",
    "wang-prices": "How posted prices rise with use, and what they ask of jobs that come one after another (notebook "
    "11).",
    "themis-app": "One exploration: the loss curves of its jobs, the rungs after which poor ones end, and the GPUs "
    "that it holds meanwhile (notebook 09).",
    "themis-auction": "One auction in detail: three apps that differ in how much they mind being spread, two machines "
    "of 4 GPUs and two of 2 (notebook 09).",
    "themis-contention": "The same apps, arriving faster: fairness and GPU time (notebook 09).",
    "themis-variants": "What the results of Themis hang on: what an app counts on that wins nothing, and whether "
    "losers get leftovers (notebook 09).",
    "themis-error": "What wrong estimates of the time left do to those who rely on them, Themis and its strawman "
    "(notebook 09).",
    "themis-lies": "An app that reports a larger ratio than it has: what it gains, and what the others lose, under the "
    "strawman and under Themis (notebook 09).",
    "themis-ltgf": "Two ideas of fairness on the same runs: finish-time fairness, and long-term GPU-time fairness, "
    "under which GPU-time counts the same wherever it is (notebook 09).",
    "queue": "GPUs in use and GPUs waited for over time (notebook 05).",
}
"""Figures that the papers do not have, and what they show."""
