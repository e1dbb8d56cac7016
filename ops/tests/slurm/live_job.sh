#!/bin/bash
export LC_ALL=C
# FILE STEPS SIGNALS: count to STEPS, a quarter of a second each, and write down what happens in FILE.log, and in
# FILE.times when it was on its GPUs
file=$1 count=$(cat $1.saved 2>/dev/null || echo 0)
save() { echo $count > $file.new; mv $file.new $file.saved; echo "saved $count" >> $file.log; }
case $3 in
    saves) trap save USR1 ;;
    ignores) trap '' TERM USR1 ;;
esac
echo "start $count $$ $PPID $SLURM_JOB_ID" >> $file.log
while [ $count -lt $2 ]; do echo $$ $EPOCHREALTIME >> $file.times; sleep 0.25; count=$((count + 1)); done
echo $$ $EPOCHREALTIME >> $file.times
echo "done $count $EPOCHREALTIME" >> $file.log
