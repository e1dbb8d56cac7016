#!/bin/bash
# A job that counts to $2 microseconds. The file $1 keeps how far it has come, saved at SIGUSR1, and it goes on from
# there when it is started again; $1.log tells when it started, saved, was stopped (SIGTERM) and ended.
file=$1 total=$2
had=$(cat "$file" 2>/dev/null || echo 0)
begun=${EPOCHREALTIME/./} before=$had
note() { echo "$1 $EPOCHREALTIME $had" >>"$file.log"; }
save() {
    had=$((before + ${EPOCHREALTIME/./} - begun))
    echo "$had" >"$file.new" && mv "$file.new" "$file"
    note save
}
note start
trap save USR1
# it leaves no process behind, not even a dead one: Slurm would wait for it seconds before it gives the GPUs to others
trap 'note stop; kill "$counting" 2>/dev/null; wait "$counting"; exit 143' TERM
left=$((total - had))
((left > 0)) || left=0
sleep "$((left / 1000000)).$(printf %06d $((left % 1000000)))" &
counting=$!
while true; do
    wait "$counting"
    status=$?
    ((status > 128)) || break
    kill -0 "$counting" 2>/dev/null && continue
    wait "$counting" || exit # it was not a signal to this script that ended the wait
    break
done
note end
