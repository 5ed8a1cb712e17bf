# Stages of tests and how they are run and counted; read by scripts/test and scripts/check. A stage is a function
# stage_NAME; a stage that returns 77 is skipped, and its last line says why. Those listed in `light` run beside the others.
jobs=$(nproc)
logs=build/test-logs
mkdir -p "$logs"
data=/usr/share/libonnx-testdata/data

configure() { # PRESET [OPTION...]
  local preset=$1
  shift
  cmake --preset "$preset" "$@" >"$logs/configure-$preset.log" 2>&1 || {
    cat "$logs/configure-$preset.log"
    return 1
  }
}

# The tests of a build, and how many they were.
run_ctest() { # FOLDER [OPTION...]
  local folder=$1 rc=0
  shift
  ctest --test-dir "$folder" -j "$jobs" --output-on-failure --progress "$@" || rc=$?
  scripts/count-tests "$folder"
  return $rc
}

# What the last line of a stage's log counts: "PASSED FAILED SKIPPED".
counts_of() { # LOG
  grep -aoE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$1" | tail -n 1 | sed 's/[a-z,]//g'
}

# One closing line for several runs of tests/attack/run, each of which has one behind its line "again: ...".
sum_of_runs() { # LOG
  grep -aA1 '^again: ' "$1" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' |
    awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
}

# The sum of what the stages counted, each in its file.
finish() {
  cat "$logs"/*.counts 2>/dev/null | awk '{ p += $1; f += $2; s += $3 }
    END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
}

# Leaves what it counted in a file: several may run at a time.
run_stage() { # NAME
  local name=$1 start=$SECONDS log=$logs/$1.log rc p f s
  "stage_$name" >"$log" 2>&1
  rc=$?
  read -r p f s <<<"$(counts_of "$log")"
  if [ $rc -eq 77 ]; then
    s=$((${s:-0} + 1))
    printf '%-12sskipped: %s\n' "$name" "$(tail -n 1 "$log")"
  elif [ $rc -eq 0 ]; then
    printf '%-12s%4d s  ok  %s\n' "$name" $((SECONDS - start)) "${covers[$name]:-}"
  else
    printf '%-12s%4d s  FAILED\n' "$name" $((SECONDS - start))
    tail -n 60 "$log" | sed 's/^/  /'  # indented: .ci/run counts lines that begin with a number
    echo "$0: stage $name failed; its whole output is in $log" >&2
    [ "${f:-0}" -gt 0 ] || f=1
  fi
  echo "${p:-0} ${f:-0} ${s:-0}" >"$logs/$name.counts"
  [ $rc -eq 0 ] || [ $rc -eq 77 ] || { touch "$logs/failed"; return 1; }
}

# One after the other, until one fails, here or in the other lane.
run_lane() { # [STAGE...]
  local stage
  for stage in "$@"; do
    [ ! -e "$logs/failed" ] || return 1
    run_stage "$stage" || return 1
  done
}

# Runs the stages named, or all of them: those of `light`, which leave a core idle for most of their time, beside the others.
run_stages() { # [STAGE...]
  local stage rc=0 beside=() others=()
  for stage in "$@"; do
    if [ -z "${covers[$stage]:-}" ]; then
      echo "$0: no stage '$stage'; there are: ${all[*]}" >&2
      exit 2
    fi
  done
  [ $# -gt 0 ] || set -- "${all[@]}"
  for stage in "$@"; do
    if [[ " ${light[*]:-} " == *" $stage "* ]]; then beside+=("$stage"); else others+=("$stage"); fi
  done
  rm -f "$logs"/*.counts "$logs/failed"
  # What runs behind a shell is deaf to Ctrl-C otherwise, which tests press, too.
  (trap - INT && run_lane "${beside[@]}") & local lane=$!
  run_lane "${others[@]}" || rc=1
  wait $lane || rc=1
  [ $rc -ne 0 ] || printf 'all stages in %d s\n' "$SECONDS"
  finish
  [ $rc -eq 0 ] || exit 1
}
