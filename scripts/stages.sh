# Stages of tests and how they are run and counted; read by scripts/test and scripts/check. A stage is a function
# stage_NAME; a stage that returns 77 is skipped, and its last line says why.
jobs=$(nproc)
logs=build/test-logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0
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

# Adds the counts that a stage's log ends with.
count() { # LOG
  local line
  line=$(grep -aoE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$1" | tail -n 1)
  [ -n "$line" ] || return
  local p f s _
  read -r p _ f _ s _ <<<"$line"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

finish() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
}

run_stage() { # NAME
  local name=$1 start=$SECONDS log=$logs/$1.log rc
  printf '%-12s' "$name"
  "stage_$name" >"$log" 2>&1
  rc=$?
  count "$log"
  if [ $rc -eq 77 ]; then
    skipped=$((skipped + 1))
    printf 'skipped: %s\n' "$(tail -n 1 "$log")"
  elif [ $rc -eq 0 ]; then
    printf '%4d s  ok  %s\n' $((SECONDS - start)) "${covers[$name]:-}"
  else
    printf '%4d s  FAILED\n' $((SECONDS - start))
    tail -n 60 "$log"
    echo "$0: stage $name failed; its whole output is in $log" >&2
    [ "$failed" -gt 0 ] || failed=1
    finish
    exit 1
  fi
}

# Runs the stages named, or all of them.
run_stages() { # [STAGE...]
  local stage
  for stage in "$@"; do
    if [ -z "${covers[$stage]:-}" ]; then
      echo "$0: no stage '$stage'; there are: ${all[*]}" >&2
      exit 2
    fi
  done
  [ $# -gt 0 ] || set -- "${all[@]}"
  for stage in "$@"; do
    run_stage "$stage"
  done
  printf 'all stages in %d s\n' "$SECONDS"
  finish
}
