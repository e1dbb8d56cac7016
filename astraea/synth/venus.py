"""Venus: SenseTime's cluster of 133 nodes, as [Ye2022] evaluates it on 100 nodes of 8 GPUs.

Sources. [Ye2022] Table 1, §3.1, Figs. 1-3: shares of jobs, running times and ends. Statistics of the public Helios
logs of Venus (125,303 GPU jobs, April to September 2020; [Hu2021] describes them): the finer distribution of running
times and demands, ends by demand, the mean running time of 13,041 s, the sizes of 15 virtual clusters.

The tables of running times are the smoothest ones (least relative entropy to the distribution of all jobs) under
these constraints at once: the mixture is Table 1, 87.4 % of the 1-GPU jobs run for less than an hour and 2.2 % for
more than a day (Fig. 3), larger gangs run longer at every quantile, shares of GPU-time are Fig. 2's, and two weeks
offer 1.06 times what 800 GPUs can do. Gangs of 64 and more have no tail of days: in the logs two thirds of them are
cancelled, and gangs of at most 32 GPUs hold 83 % of the GPU-time, so that they cannot run long.
"""

from __future__ import annotations

import pandas as pd

from astraea.synth.workload import Size, Tenant, Workload

#: Distribution function of running time [%] by demand, at `KNOTS[1:-1]`
_ONE = (6.94, 11.62, 26.70, 42.03, 60.09, 72.26, 77.67, 87.37, 90.65, 92.67, 95.12, 97.66, 98.45, 99.00, 99.78)
_FEW = (4.72, 8.29, 20.97, 34.43, 51.26, 63.49, 69.29, 80.48, 86.45, 89.99, 93.48, 96.12, 98.20, 99.00, 99.78)
_NODE = (4.13, 7.40, 19.47, 32.86, 49.76, 61.99, 67.79, 78.98, 84.95, 88.49, 91.98, 94.62, 98.20, 99.00, 99.78)
_TWO_NODES = (3.57, 6.54, 17.97, 31.30, 48.26, 60.49, 66.29, 77.48, 83.45, 86.99, 90.48, 93.12, 98.20, 99.00, 99.78)
_FOUR_NODES = (3.18, 5.88, 16.47, 29.80, 46.76, 58.99, 64.79, 75.98, 81.95, 85.49, 88.98, 91.62, 98.20, 99.00, 99.78)
_MANY = (2.86, 5.30, 14.97, 27.67, 44.24, 56.66, 62.68, 74.48, 80.45, 83.99, 95.59, 99.23, 99.98, 99.99, 100.0)

#: [s]; the longest job runs for 20 days
KNOTS = (0.6, 4, 16, 64, 128, 256, 600, 1024, 3600, 10800, 21600, 43200, 86400, 172800, 259200, 518400, 1728000)

#: Shares of jobs [%] from Fig. 1 (1, 8, above 8 GPUs) and, within them, from the logs. Ends by demand are from the
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

#: Weights: nodes of the 15 virtual clusters in the logs, and a sixteenth of 2 nodes that is ours. Loads, tastes and
#: numbers of users are ours too: jobs per node differ more than tenfold, as in the logs
TENANTS = (
    Tenant("vc01", 9, 1.0, -0.6, 27, swing=-1.8),
    Tenant("vc02", 5, 0.9, -0.7, 21),
    Tenant("vc03", 8, 0.8, -0.4, 21),
    Tenant("vc04", 20, 0.8, 0.8, 30, swing=1.8),
    Tenant("vc05", 6, 0.8, 0.4, 12),
    Tenant("vc06", 12, 1.0, 0.0, 24, swing=-1.8),
    Tenant("vc07", 4, 0.6, -0.5, 12),
    Tenant("vc08", 11, 0.8, 0.2, 21, swing=1.8),
    Tenant("vc09", 4, 1.1, -0.2, 12),
    Tenant("vc10", 8, 0.8, 0.3, 15, swing=1.8),
    Tenant("vc11", 3, 0.8, -1.0, 12),
    Tenant("vc12", 32, 1.05, 0.3, 45),
    Tenant("vc13", 10, 1.0, 0.0, 21, swing=-1.8),
    Tenant("vc14", 2, 0.6, -0.3, 9),
    Tenant("vc15", 1, 0.4, -6.0, 6),
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
