# A worker that does what the plan of its task says for this attempt. Each of its processes writes itself down and then looks whether one of
# another run of the task lives: of two that live at once, the later one sees the other.
here=$FAULTS_DIR/tasks/$HOLDFAST_TASK

# Is this process (id, start time) there and not a zombie?
lives() {
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- "$2" ${stat##*) }
  case $2 in Z | X) return 1 ;; esac
  [ "${21}" = "$1" ]
}

join() {
  read -r stat <"/proc/$$/stat"
  set -- ${stat##*) }
  echo "$$ ${20} $HOLDFAST_RUN" >>"$here/pids"
  while read -r pid start run; do
    if [ "$run" != "$HOLDFAST_RUN" ] && lives "$pid" "$start"; then
      echo "$HOLDFAST_TASK: $pid of run $run lives beside $$ of run $HOLDFAST_RUN" >>"$FAULTS_DIR/violations"
    fi
  done <"$here/pids"
}

ask() {
  echo "$1 $HOLDFAST_RUN_TOKEN" >"$FAULTS_DIR/asks/.$HOLDFAST_TASK.$HOLDFAST_RUN"
  mv "$FAULTS_DIR/asks/.$HOLDFAST_TASK.$HOLDFAST_RUN" "$FAULTS_DIR/asks/$HOLDFAST_TASK.$HOLDFAST_RUN"
  while [ -e "$FAULTS_DIR/asks/$HOLDFAST_TASK.$HOLDFAST_RUN" ]; do sleep 0.1; done
}

# Long enough to be met by a fault.
hang() {
  rest=12
  while [ "$rest" -gt 0 ] && [ ! -e "$FAULTS_DIR/calm" ]; do
    sleep 0.25
    rest=$((rest - 1))
  done
}

if [ "$1" = left-behind ]; then
  trap '' TERM
  join
  : >"$here/left.$HOLDFAST_RUN"
  while :; do sleep 1; done
fi

join
attempt=0
if [ -e "$here/attempts" ]; then
  while read -r _; do attempt=$((attempt + 1)); done <"$here/attempts"
fi
echo "$HOLDFAST_RUN" >>"$here/attempts"
echo "$HOLDFAST_TASK $HOLDFAST_RUN $$ $attempt" >>"$FAULTS_DIR/begins"
act=complete
line=0
while read -r word; do
  [ "$line" = "$attempt" ] && act=$word
  line=$((line + 1))
done <"$here/plan"
[ -e "$FAULTS_DIR/calm" ] && act=complete
case $act in
  complete | block) ask "$act" ;;
  exit*) exit "${act#exit}" ;;
  stubborn)
    trap '' TERM
    hang
    ask complete
    ;;
  hang)
    hang
    ask complete
    ;;
  fork)
    setsid sh "$0" left-behind >/dev/null 2>&1 &
    while [ ! -e "$here/left.$HOLDFAST_RUN" ]; do sleep 0.05; done
    exit 3
    ;;
  linger)
    trap '' TERM
    ask block
    while :; do sleep 1; done
    ;;
esac
