"""Small files in every public format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from astraea.traces.trace import Trace

TIRESIAS = (
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "0,1,0,10,vgg19,164,30\n"
    "1,8,30,10,vgg11,147,23\n"
)

ASTRAEA = (
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time\n"
    "0,north,2,190,100,alexnet,1774,1,2000\n"
    "1,south,1,273,100,alexnet,403,1,0\n"
    "2,south,0,280,100,alexnet,403,1,9\n"
    "3,north,4,290,100,alexnet,0,1,9\n"
)

CHRONUS = (
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,"
    "best_effort,job_type\n"
    "0,north,4,12,69,resnet101,211,8,282,10,0,strict\n"
    "1,south,1,19,88,resnet101,31,6,88-99,10-5,0,soft\n"
    "2,south,1,20,88,resnet101,31,6,88,10,1,best\n"
)

MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,"
    "resource_time_1,resource_time_2,priority\n"
    "0,1,0,5853,dqn,128,2868294,4612,490,446,8,0,1\n"
    "1,8,2016941,8787,dqn,128,4472936,2016,509,435,8,0.5,0\n"
)

HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,ua,vcA,8,16,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:01:10,2020-04-01 01:01:10,3600,60\n"
    "8,ub,vcA,0,16,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:09,9,0\n"
    "9,ub,vcB,1,4,1,TIMEOUT,2020-04-01 00:00:20,2020-04-01 00:00:20,2020-04-01 00:00:25,5,0\n"
    "10,ub,vcB,1,4,1,NODE_FAIL,2020-04-01 00:00:30,2020-04-01 00:00:30,2020-04-01 00:00:36,6,0\n"
    "11,ub,vcB,1,4,1,CANCELLED,2020-04-01 00:00:40,2020-04-01 00:00:40,2020-04-01 00:00:40,0,0\n"
    "12,ub,vcB,1,4,1,CANCELLED,2020-04-01 00:00:41,,,0,0\n"
    "13,ub,vcZ,1,4,1,COMPLETED,2020-04-01 00:00:42,2020-04-01 00:00:42,2020-04-01 00:00:43,1,0\n"
    "14,ub,vcB,1,4,1,CANCELLED,2020-04-02 00:00:10,2020-04-02 00:00:10,2020-04-02 00:00:11,1,0\n"
)

SIZES = "date,vcA,vcB,vcZ,vcIdle,total\n2020-09-02,72,0,0,8,80\n2020-09-01,64,16,0,8,88\n"

GAVEL7 = (
    'ResNet-50 (batch size 64)\tcd x && python3 main.py "a\t-n\t1\t1000\t0.000000\t1\n'
    "ResNet-50 (batch size 64)\tpython3 main.py\t-n\t1\t2000\t50.5\t2\n"
    "ResNet-50 (batch size 64)\tpython3 main.py\t-n\t1\t2000\t60\t4\n"
    "ResNet-50 (batch size 64)\tpython3 main.py\t-n\t1\t2000\t61\t8\n"
)

GAVEL10 = (
    "ResNet-50 (batch size 64)\tpython3 main.py\twd\t-n\t1\t1000\t1\t1\t-1.000000\t0\n"
    "ResNet-50 (batch size 64)\tpython3 main.py\twd\t-n\t1\t2000\t2\t5\t1.2\t50\n"
)

SPEEDS: dict[str, Any] = {
    "v100": {
        "('ResNet-50 (batch size 64)', 1)": {"null": 10.0, "('ResNet-50 (batch size 64)', 1)": [6.0, 6.0]},
        "('ResNet-50 (batch size 64)', 2)": {"null": 16.0},
        "('ResNet-50 (batch size 64)', 4)": {"null": 0.0},
    },
    "k80": {},
}


def attempt(start: str | None, end: str | None, gpus: int = 1) -> dict[str, Any]:
    """One attempt in the form of the Philly log."""
    detail = [{"ip": "m1", "gpus": [f"gpu{i}" for i in range(gpus)]}] if gpus else []
    return {"start_time": start, "end_time": end, "detail": detail}


def philly_job(jobid: str, *attempts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """One job in the form of the Philly log."""
    job = {"status": "Pass", "vc": "ee9e8c", "jobid": jobid, "attempts": list(attempts)}
    return {**job, "submitted_time": "2017-10-07 01:00:00", "user": "ce2f4c", **changes}


PHILLY: list[dict[str, Any]] = [
    philly_job(
        "app_1",
        attempt("2017-10-07 01:00:30", "2017-10-07 01:10:30", 8),
        attempt("2017-10-07 02:00:00", "2017-10-07 02:00:40", 8),
    ),
    philly_job("app_2", attempt("2017-10-07 01:02:00", "2017-10-07 01:03:00"), status="Killed", vc="b436b2", user=None),
    philly_job(
        "app_3",
        attempt("None", "2017-10-07 01:03:00"),
        attempt("2017-10-07 01:04:00", "2017-10-07 01:04:05"),
        status="Failed",
    ),
    philly_job("none"),
    philly_job("no-gpu", attempt("2017-10-07 01:02:00", "2017-10-07 01:03:00", 0)),
    philly_job("running", attempt("2017-10-07 01:02:00", "2017-10-07 01:03:00"), attempt("2017-10-07 01:05:00", None)),
    philly_job("no-times", attempt(None, None)),
    philly_job("instant", attempt("2017-10-07 01:02:00", "2017-10-07 01:02:00")),
    philly_job("early", attempt("2017-10-07 00:59:00", "2017-10-07 01:02:00")),
    philly_job("clocks", attempt("2017-11-05 01:40:00", "2017-11-05 01:10:00"), submitted_time="2017-11-05 00:10:00"),
]


def write_csv(trace: Trace, path: Path) -> str:
    """Write the table of a trace; gives the path as text."""
    trace.frame.to_csv(path, index=False)
    return str(path)


SACCT = """\
JobID|Account|User|Submit|Eligible|Start|End|State|TimelimitRaw|ReqTRES|AllocTRES
7|vision|ann|2026-03-01T12:00:00|2026-03-01T12:00:00|2026-03-01T12:00:05|2026-03-01T12:09:00|COMPLETED|60|gres/gpu=4|gres/gpu=4
7.batch|vision||2026-03-01T12:00:05|2026-03-01T12:00:05|2026-03-01T12:00:05|2026-03-01T12:09:00|COMPLETED|||gres/gpu=4
8_2|speech|bob|2026-03-01T12:01:00|2026-03-01T12:01:00|2026-03-01T12:09:00|2026-03-01T12:20:00|NODE_FAIL|UNLIMITED||gres/gpu:a100=2
8_2|speech|bob|2026-03-01T12:20:00|2026-03-01T12:20:00|2026-03-01T12:30:00|Unknown|RUNNING|UNLIMITED||gres/gpu:a100=2
9|nlp|cid|2026-03-01T12:02:00|Unknown|None|Unknown|PENDING|10|gres/gpu=8|
10+0|nlp|cid|2026-03-01T12:03:00|Unknown|2026-03-01T12:05:00|2026-03-01T12:06:00|COMPLETED|10||cpu=4
10+1|nlp|cid|2026-03-01T12:03:00|Unknown|2026-03-01T12:05:00|2026-03-01T12:06:00|COMPLETED|10||gres/gpu=2
"""

SACCT_WIDE = """\
JobID|JobName|Account|User|Partition|QOS|Submit|Start|End|State|Elapsed|Timelimit|NNodes|NCPUS|\
ReqMem|ReqGRES|AllocGRES|NodeList|Reason|Flags|Priority|Constraints|AllocTRES
7|a b|vision|ann|gpu|normal|2026-03-01T12:00:00|2026-03-01T12:00:05|2026-03-01T12:09:00|COMPLETED|00:08:55|01:00:00|2|\
8|4Gn|gpu:2|gpu:a100:4|n[1-2]|None|SchedMain|17|a100|
8|x|y|speech|bob|gpu|normal|2026-03-01T12:01:00|2026-03-01T12:09:00|Unknown|RUNNING|1-00:11:00|UNLIMITED|1|4|2Gc|gpu:1|gpu:v100:1|n3|Resources||12|a|b|cpu=4,node=1
9|z|nlp|cid|gpu|normal|2026-03-01T12:02:00|Unknown|Unknown|PENDING|00:00:00|10:00|1|1|1M|gpu|||Priority||3||
"""

SWF = """\
; UnixStartTime: 1000000000
1 0 30 100 4 -1 -1 4 600 -1 1 7 3 1 1 2 -1 -1
2 5 -1 50 -1 -1 -1 8 -1 -1 0 8 4 1 1 2 -1 -1
"""


def sacct_entry(id: int, start: int, end: int, **more: object) -> dict[str, object]:
    """One job in the form of newer versions of ``sacct --json``; times count from 2026, 0 is none."""
    day = 1_767_225_600
    time = {"submission": day, "eligible": day, "start": start and day + start, "end": end and day + end,
            "elapsed": max(end - start, 0),
            "limit": {"set": True, "infinite": False, "number": 30}}  # fmt: skip
    tres = [{"type": "cpu", "name": "", "count": 1}, {"type": "gres", "name": "gpu", "count": 4}]
    return {
        "job_id": id, "account": "vision", "user": "ann", "partition": "gpu", "qos": "normal", "time": time,
        "state": {"current": ["COMPLETED"]}, "tres": {"allocated": tres, "requested": tres},
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
    } | more  # fmt: skip


SACCT_JSON = {
    "jobs": [
        sacct_entry(1, 110, 150),
        sacct_entry(2, 0, 0, state={"current": "PENDING"}),
        sacct_entry(4, 120, 130, array={"job_id": 3, "task_id": {"set": True, "infinite": False, "number": 0}}),
        sacct_entry(5, 120, 160, het={"job_id": 5, "job_offset": 0}),
        sacct_entry(6, 120, 160, het={"job_id": 5, "job_offset": 1}),
    ]
}

SSHARE = """\
Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root||||0|1.0|
 vision||1|0.5|0|0.0|1.0
  vision|ann|1|0.5|0|0.0|1.0
 speech||1|0.25|0|0.0|1.0
 nlp||1|0.25|0|0.0|1.0
"""

ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
    "57,u1,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,"
    "32,936\n"
    "58,u2,2,16,256,Pretrain,COMPLETED,2023-02-28 16:19:22+00:00,2023-02-28 16:20:22+00:00,2023-02-28 17:20:22+00:00,"
    "3660,60.0,58560\n"
    "59,u2,0,0,8,Debug,COMPLETED,2023-03-01 00:20:00+08:00,2023-03-01 00:20:00+08:00,2023-03-01 00:21:00+08:00,60,0,0\n"
    "60,u1,1,1,8,Other,CANCELLED,2023-03-01 00:21:00+08:00,,,0,0,0\n"
    "61,u1,1,1,8,Other,CANCELLED,2023-03-01 00:22:00+08:00,2023-03-01 00:21:00+08:00,2023-03-01 00:23:00+08:00,0,0,0\n"
    "62,u1,1,1,8,Other,CANCELLED,soon,,,0,0,0\n"
)

SUPERCLOUD = (
    "id_job,id_user,kill_requid,nodes_alloc,nodelist,cpus_req,state,timelimit,time_submit,time_eligible,time_start,"
    "time_end,priority,partition,tres_req,tres_alloc\n"
    '700,41,-1,1,"[\'r1-n1\']",20,7,1440,1612000000,1612000000,1612000100,1612000200,1,9,"1=20,1002=1","1=20,1002=1"\n'
    '700,41,-1,1,"[\'r1-n2\']",20,3,1440,1612000000,1612000000,1612000300,1612003900,1,9,"1=20,1002=1","1=20,1002=2"\n'
    '701,42,-1,2,"[\'r1-n3\']",40,4,525600,1612000050,1612000050,1612000060,1612000160,1,9,"1=40,1001=4","1=40,1001=4"\n'
    '702,42,-1,0,[],40,4,60,1612000070,1612000070,0,1612000080,1,9,"1=40,1002=2",\n'
    "703,42,-1,1,[],40,3,60,1612000071,1612000071,1612000072,1612000080,1,9,1=40,1=40\n"
)

SPOT_GPU = (
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
    "239,13,A10,20,1,1,0,2764799,HP\n"
    "437,57,A100-SXM4-80GB,15,1.0,16,9663,41060,Spot\n"
    "438,57,A100-SXM4-80GB,15,0.5,3,9663,60,Spot\n"
    "439,57,A100-SXM4-80GB,15,8,2,9670,0,HP\n"
)


def write_kestrel(folder: Path) -> None:
    """Write three months of five jobs, as Parquet files below folders of years and months."""
    rows = [
        ("1", "u1", "acc1", "gpu-h100", "normal", "COMPLETED", "2024-08-31 23:59:50-06:00", "2024-09-01 00:10:00-06:00",
         "2024-09-01 01:10:00-06:00", 4 * 3600, 4, 1, 104),
        ("2", "u2", "acc2", "standard", "high", "COMPLETED", "2024-09-01 00:00:00-06:00", "2024-09-01 00:00:10-06:00",
         "2024-09-01 02:00:10-06:00", 8 * 3600, 0, 2, 208),
        ("3", "u2", "acc2", "gpu-h100", "high", "FAILED", "2024-11-03 01:30:00-06:00", "2024-11-03 01:10:00-07:00",
         "2024-11-03 02:10:00-07:00", 3600, 8, 2, 208),
        ("4", "u1", "acc1", "gpu-h100", "normal", "PENDING", "2024-11-03 03:00:00-07:00", None, None, 3600, 1, 0, 26),
        ("5", "u1", "acc1", "gpu-h100s", "normal", "CANCELLED", "2024-11-03 03:00:01-07:00",
         "2024-11-03 03:00:02-07:00", "2024-11-03 03:00:09-07:00", 0, 2, 1, 52),
    ]  # fmt: skip
    names = ["id", "user_hash", "account_hash", "partition", "qos", "state_simple", "submit_time", "start_time",
             "end_time", "wallclock_req", "gpus_requested", "nodes_used", "processors_req"]  # fmt: skip
    table = pd.DataFrame(rows, columns=names)
    table["wallclock_req"] *= 10**9
    for month, jobs in table.groupby(table["submit_time"].str[5:7].astype(int)):
        path = folder / "year=2024" / f"month={month}" / "part-0.parquet"
        path.parent.mkdir(parents=True)
        jobs.assign(cpu_eff=0.5).to_parquet(path, index=False)
