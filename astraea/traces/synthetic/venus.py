"""Venus: SenseTime's cluster of 133 nodes, as [Ye2022] evaluates it on 100 nodes of 8 GPUs.

Sources. [Ye2022] Table 1, §3.1, Figs. 1-3: shares of jobs, running times and ends. Statistics of the public Helios
logs of Venus (125,303 GPU jobs, April to September 2020; [Hu2021] describes them): the finer distribution of running
times and demands, ends by demand, the mean running time of 13,041 s, the sizes of 15 virtual clusters.

The tables of running times are the smoothest ones (least relative entropy to the distribution of all jobs) under
these constraints at once: the mixture is Table 1; 87.4 % of the 1-GPU jobs run for less than an hour and 2.2 % for more
than a day (Fig. 3); larger gangs run longer at every quantile, up to 32 GPUs and for all gangs above 8 together; shares
of GPU-time are near Fig. 2's; and two weeks offer 1.06 times what 800 GPUs can do. Gangs of 64 and more have no tail
of days: in the logs two thirds of them are cancelled, and gangs of at most 32 GPUs hold 83 % of the GPU-time, so that
the few larger ones cannot run long.
"""

from __future__ import annotations

import pandas as pd

from astraea.traces.synthetic.workload import Size, Tenant, Workload

#: Distribution function of running time [%] by demand, at `KNOTS[1:-1]`
_ONE = (6.94, 11.63, 26.71, 42.04, 60.10, 72.26, 77.67, 87.37, 90.58, 92.62, 94.95, 97.65, 98.39, 99.03, 99.80)
_FEW = (4.60, 8.08, 20.43, 33.91, 50.75, 62.98, 68.77, 79.96, 85.88, 89.49, 92.85, 95.63, 98.39, 99.03, 99.80)
_NODE = (4.13, 7.39, 19.43, 32.86, 49.75, 61.98, 67.77, 78.96, 84.88, 88.49, 91.85, 94.63, 98.39, 99.03, 99.80)
_TWO_NODES = (3.67, 6.72, 18.43, 31.70, 48.67, 60.98, 66.77, 77.96, 83.88, 87.49, 90.85, 93.63, 97.89, 98.72, 99.70)
_FOUR_NODES = (3.35, 6.20, 17.43, 30.70, 47.67, 59.98, 65.77, 76.96, 82.88, 86.49, 89.85, 92.63, 97.89, 98.72, 99.70)
_MANY = (3.04, 5.64, 15.93, 28.61, 45.14, 57.54, 63.57, 75.42, 81.38, 84.99, 94.98, 98.91, 99.99, 99.99, 99.99)

#: [s]; the longest job runs for 20 days
KNOTS = (0.6, 4, 16, 64, 128, 256, 600, 1024, 3600, 10800, 21600, 43200, 86400, 172800, 259200, 518400, 1728000)

#: Shares of jobs [%] from Fig. 1 (1, 8, above 8 GPUs) and, within the rest, near the logs'. Ends by demand are from the
#: logs, moved so that all jobs together give §3.1's 52.2 % completed, 27.9 % cancelled, 19.9 % failed
SIZES = (
    Size(1, 52.5, _ONE, (60.0, 21.2, 18.8)),
    Size(2, 4.1, _FEW, (33.4, 35.2, 31.4)),
    Size(4, 9.5, _FEW, (50.3, 21.8, 27.9)),
    Size(6, 1.0, _FEW, (50.3, 21.8, 27.9)),
    Size(8, 22.6, _NODE, (47.6, 33.1, 19.3)),
    Size(16, 4.2, _TWO_NODES, (36.1, 51.0, 12.9)),
    Size(32, 3.8, _FOUR_NODES, (37.0, 45.4, 17.6)),
    Size(64, 1.35, _MANY, (16.8, 72.0, 11.2)),
    Size(96, 0.5, _MANY, (16.8, 72.0, 11.2)),
    Size(128, 0.45, _MANY, (16.8, 72.0, 11.2)),
)

#: Weights: nodes of the 15 virtual clusters in the logs, and a sixteenth of 2 nodes that is ours ([Ye2022] has 16
#: tenants). Loads, tastes, numbers of users and swings are ours too, chosen so that jobs per node differ more than
#: tenfold, as in the logs, that 1-GPU jobs are 9 to 100 % of a tenant's, and that Fig. 4 can be found: with opposite
#: swings one virtual cluster is full while another is half empty, and some days later it is the other way round
TENANTS = (
    Tenant("vc01", 9, 1.0, -0.6, 27, swing=-2.5),
    Tenant("vc02", 5, 0.9, -0.7, 21),
    Tenant("vc03", 8, 0.8, -0.4, 21),
    Tenant("vc04", 20, 0.8, 0.8, 30, swing=2.5),
    Tenant("vc05", 6, 0.8, 0.4, 12),
    Tenant("vc06", 12, 1.0, 0.0, 24, swing=-2.5),
    Tenant("vc07", 4, 0.6, -0.5, 12),
    Tenant("vc08", 11, 0.8, 0.2, 21, swing=2.5),
    Tenant("vc09", 4, 1.1, -0.2, 12),
    Tenant("vc10", 8, 0.8, 0.3, 15, swing=2.5),
    Tenant("vc11", 3, 0.8, -1.0, 12),
    Tenant("vc12", 32, 1.05, 0.3, 45),
    Tenant("vc13", 10, 1.0, 0.0, 21, swing=-2.5),
    Tenant("vc14", 2, 0.6, -0.3, 9),
    Tenant("vc15", 1, 0.4, -12.0, 6),
    Tenant("vc16", 2, 0.8, 0.5, 7),
)

VENUS = Workload(
    name="venus",
    stream=1,
    start=pd.Timestamp("2020-06-08"),
    gpus=800,
    home_gpus=1064,
    jobs=11_304,
    history_jobs=42 * 692,
    tenants=TENANTS,
    sizes=SIZES,
    knots=KNOTS,
    tilt=(-0.1, -0.3),
)
