"""Philly: Microsoft's cluster, as [Ye2022] evaluates it on 210 nodes of 8 GPUs.

Sources. [Ye2022] Table 1 and §6.1.2. Statistics of the public Philly trace (117,325 jobs in 135 days of 2017;
[Jeon2019] describes it): shares of demands, the distribution of running times below the first mark of Table 1. The
tenants' weights are the shares that [Ye2022]'s authors published with their artifact. How jobs ended is assumed: 69 %
completed, 14 % cancelled, mostly long ones, 17 % failed.

Load. 44,329 jobs at the mean demand of 2.7 GPUs fill 1,680 GPUs for two weeks if the mean running time is 17,000 s
and does not depend on demand; larger gangs run longer, so it must be less. Table 1 alone, with running times spread
log-uniformly between its marks and up to two weeks, has 28,000 s and would keep a queue that only grows. The tables
below are the smoothest ones that stay within 1.3 percentage points of Table 1 and offer 1.01 times what 1,680 GPUs
can do; their mean of 13,600 s is near the 14,600 s of the running times that Alibaba published for this trace. The
price: a gang of 8 runs 1.6 times as long as one GPU on average; the trace has larger ratios.

Arrivals. Profile and bursts are assumed to be those of Venus, at Philly's rate. The history has the whole trace's
average of 869 jobs a day; the evaluated weeks, with 44,329 jobs, are 3.6 times as busy.
"""

from __future__ import annotations

import pandas as pd

from astraea.traces.synthetic.workload import Size, Tenant, Workload

#: [s]; the longest job runs for two weeks
KNOTS = (0.6, 4, 16, 64, 128, 256, 600, 1024, 3600, 10800, 21600, 43200, 86400, 172800, 259200, 518400, 1209600)

#: Distribution function of running time [%] by demand, at `KNOTS[1:-1]`
_ONE = (0.63, 1.06, 14.01, 25.53, 31.53, 42.71, 48.03, 73.93, 84.61, 90.95, 94.11, 96.70, 98.87, 99.56, 99.79)
_TWO = (0.43, 0.77, 12.01, 23.53, 29.53, 40.71, 46.03, 71.93, 82.61, 88.95, 92.11, 94.70, 98.87, 99.56, 99.79)
_FOUR = (0.35, 0.63, 10.01, 21.53, 27.53, 38.71, 44.03, 69.93, 80.61, 86.95, 90.11, 92.70, 98.87, 99.56, 99.79)
_NODE = (0.27, 0.49, 8.01, 19.53, 25.53, 36.71, 42.03, 67.93, 78.61, 84.95, 88.11, 90.70, 98.87, 99.56, 99.79)
_MORE = (0.21, 0.38, 6.01, 17.53, 23.53, 34.71, 40.03, 65.93, 76.61, 82.95, 86.11, 88.70, 98.87, 99.56, 99.79)

#: Completed, cancelled, failed: assumed
_ENDS = (69, 14, 17)

#: Shares of jobs [%]
SIZES = (
    Size(1, 68.7, _ONE, _ENDS),
    Size(2, 3.3, _TWO, _ENDS),
    Size(4, 13.6, _FOUR, _ENDS),
    Size(8, 12.1, _NODE, _ENDS),
    Size(16, 1.7, _MORE, _ENDS),
    Size(32, 0.6, _MORE, _ENDS),
)

#: Names and weights are the published ones; loads, tastes, numbers of users and swings are ours
TENANTS = (
    Tenant("6214e9", 2690, 1.3, 0.0, 45),
    Tenant("7f04ca", 2568, 0.5, 0.3, 30, swing=1.0),
    Tenant("11cb48", 2666, 1.0, -0.3, 45),
    Tenant("b436b2", 2600, 1.2, 0.1, 45, swing=-1.0),
    Tenant("ee9e8c", 2690, 1.4, 0.4, 45),
    Tenant("e13805", 2558, 0.7, -0.6, 37, swing=-1.0),
    Tenant("6c71a0", 2670, 1.0, 0.8, 37),
    Tenant("2869ce", 2558, 0.8, 0.0, 37),
    Tenant("ed69ec", 1926, 1.1, -0.4, 30),
    Tenant("103959", 1804, 0.6, 0.2, 30),
    Tenant("23dbec", 88, 0.9, 0.0, 6),
    Tenant("0e4a51", 2578, 1.2, -0.2, 45, swing=1.0),
    Tenant("795a4c", 36, 0.7, -12.0, 4),
    Tenant("51b7ef", 544, 1.0, 0.2, 18),
    Tenant("925e2b", 80, 1.1, 0.3, 6),
)

PHILLY = Workload(
    name="philly",
    stream=2,
    start=pd.Timestamp("2017-10-02"),
    gpus=1680,
    home_gpus=2490,
    jobs=44_329,
    history_jobs=42 * 869,
    tenants=TENANTS,
    sizes=SIZES,
    knots=KNOTS,
    tilt=(0.7, 0.15),
)
