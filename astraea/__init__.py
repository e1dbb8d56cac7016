"""Fair schedulers for deep-learning GPU clusters: understand, reproduce, compare.

``import astraea`` is cheap; each name below is imported when it is first used.

Traces:

- `read_trace`: a log of jobs, from a file or a folder
- `Trace`: a workload; `Trace.from_frame` makes one from a DataFrame
- `synthesize`: a synthetic trace, ``"venus"`` or ``"philly"``

Simulations:

- `Cluster`: nodes and GPUs per node
- `simulate`: runs a trace on a cluster under a scheduler; the result has a summary, jobs, and tenants over time
- `sweep`: runs every combination of traces, clusters, schedulers, parameters and seeds, in parallel and cached

Schedulers:

- `policies`: a table of the schedulers
- `get_policy`: a scheduler by its name; `with_parameters` of it returns the same scheduler with other parameters
- `policy`: makes a scheduler from a function, so that you can try your own

References, by the keys that docstrings cite:

[Chaudhary2020] S. Chaudhary, R. Ramjee, M. Sivathanu, N. Kwatra, S. Viswanatha. Balancing Efficiency and Fairness in
Heterogeneous GPU Clusters for Deep Learning. EuroSys 2020.

[Cole2013] R. Cole, V. Gkatzelis, G. Goel. Mechanism Design for Fair Division: Allocating Divisible Items without
Payments. EC 2013.

[Hu2021] Q. Hu, P. Sun, S. Yan, Y. Wen, T. Zhang. Characterization and Prediction of Deep Learning Workloads in
Large-Scale GPU Datacenters. SC 2021.

[Jamieson2016] K. Jamieson, A. Talwalkar. Non-stochastic Best Arm Identification and Hyperparameter Optimization.
AISTATS 2016.

[Jeon2019] M. Jeon, S. Venkataraman, A. Phanishayee, J. Qian, W. Xiao, F. Yang. Analysis of Large-Scale Multi-Tenant GPU
Clusters for DNN Training Workloads. USENIX ATC 2019.

[Mahajan2020] K. Mahajan, A. Balasubramanian, A. Singhvi, S. Venkataraman, A. Akella, A. Phanishayee, S. Chawla. Themis:
Fair and Efficient GPU Cluster Scheduling. NSDI 2020.

[Narayanan2020] D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia. Heterogeneity-Aware Cluster
Scheduling Policies for Deep Learning Workloads. OSDI 2020.

[Romano2019] Y. Romano, E. Patterson, E. J. Candès. Conformalized Quantile Regression. NeurIPS 2019.

[Wang2023] N. Wang, R. Zhou, L. Han, H. Chen, Z. Li. Online Scheduling of Distributed Machine Learning Jobs for
Incentivizing Sharing in Multi-Tenant Systems. IEEE Transactions on Computers 72(3), 2023.

[Ye2022] Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo. ASTRAEA: A Fair Deep Learning Scheduler for
Multi-tenant GPU Clusters. IEEE Transactions on Parallel and Distributed Systems, 2022.

[Zhang2020] Q. Zhang, R. Zhou, C. Wu, L. Jiao, Z. Li. Online Scheduling of Heterogeneous Distributed Machine Learning
Jobs. MobiHoc 2020.

[Zhao2020] H. Zhao, Z. Han, Z. Yang, Q. Zhang, F. Yang, L. Zhou, M. Yang, F. C. M. Lau, Y. Wang, Y. Xiong, B. Wang.
HiveD: Sharing a GPU Cluster for Deep Learning with Guarantees. OSDI 2020.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from astraea.cluster.catalogue import policies
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.definition import policy
    from astraea.cluster.policies import get_policy
    from astraea.cluster.simulate import simulate
    from astraea.experiments.sweep import sweep
    from astraea.traces.readers import read_trace
    from astraea.traces.synthetic import synthesize
    from astraea.traces.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "Cluster", "Trace", "get_policy", "policies", "policy", "read_trace", "simulate", "sweep", "synthesize",
]  # fmt: skip

_PLACES: Final = {
    "Cluster": "cluster.cluster",
    "Trace": "traces.trace",
    "get_policy": "cluster.policies",
    "policies": "cluster.catalogue",
    "policy": "cluster.definition",
    "read_trace": "traces.readers",
    "simulate": "cluster.simulate",
    "sweep": "experiments.sweep",
    "synthesize": "traces.synthetic",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
