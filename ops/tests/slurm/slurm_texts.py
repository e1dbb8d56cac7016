"""Configuration of a Slurm on one machine: slurmdbd.conf, slurm.conf and job_submit.lua."""

SLURMDBD = """\
AuthType=auth/munge
DbdHost=localhost
DbdPort={dbd}
SlurmUser=root
LogFile={at}/slurmdbd.log
PidFile={at}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=log
StoragePass=log
StorageLoc=accounting
"""

SLURM = """\
ClusterName=log
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ctld}
SlurmctldPidFile={at}/slurmctld.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmctldDebug={debug}
SlurmctldParameters=enable_expedited_requeue
RequeueExitHold=9
SlurmdPidFile={at}/%n.pid
SlurmdLogFile={at}/%n.log
SlurmdSpoolDir={at}/spool-%n
StateSaveLocation={at}/state
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmdParameters=config_overrides
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType={scheduler}
SchedulerParameters={parameters}
PriorityType=priority/multifactor
PriorityDecayHalfLife={half_life}
PriorityCalcPeriod=1
PriorityWeightFairshare={fairshare}
PriorityWeightAge={age}
PriorityWeightJobSize={size}
PriorityFavorSmall={small}
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={dbd}
AccountingStorageTRES={tres}
AccountingStorageEnforce=associations,limits
{classes}
# a requeued job may not start before its old credential has expired: 120 s unless this says less
AuthInfo=cred_expire={cred_expire}
KillWait={kill_wait}
ReturnToService=1
{more}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP TRESBillingWeights="CPU=0.0,GRES/gpu=1.0"
PartitionName=other Nodes=ALL MaxTime=INFINITE State=UP
"""

HOLD = """\
local ours = { gpu = true }  -- the partitions of live.toml
local default = "gpu"        -- the partition of a job that names none

local function is_ours(list)
    for name in string.gmatch(list or default, "[^,]+") do
        if ours[name] then return true end
    end
    return false
end
function slurm_job_submit(job, partition, uid)
    if is_ours(job.partition) then job.priority = 0 end
    return slurm.SUCCESS
end
function slurm_job_modify(job, old, partition, uid)
    if uid == 0 or uid ~= old.user_id then return slurm.SUCCESS end
    if is_ours(old.partition) and (job.priority ~= slurm.NO_VAL or job.requeue == 0) then
        return slurm.ESLURM_ACCESS_DENIED
    end
    if job.partition ~= nil and is_ours(job.partition) then job.priority = 0 end
    return slurm.SUCCESS
end
return slurm.SUCCESS
"""
"""job_submit.lua: every submitted job is held until a coordinator releases it; its user cannot release it."""
