#!/usr/bin/env bash
# Work-groups by the rules of other engines beside the usual ones, on every model of a folder: the table of
# docs/laboratory/opencl.md, "Work-groups before tuning".
#
# usage: bench/plans/gpu_groups.sh [DEVICE [SECONDS [MODELS]]]      (opencl:NVIDIA, 600, the folder models)
#
# DEVICE is that of --device; SECONDS are those of the whole table: each model gets an equal share of what is left, and
# models for which none is left are named. MODELS is a folder, searched at any depth, or a model. What the script needs
# besides lies beside it or in BIN (build/release/bin): versus_bench, and in a folder lib the libraries that the machine
# has not. RULES names the rules ("rows mace-cache mnn-cores"; docs/tuning.md has all), TURNS the most seconds of turns of
# a model (4). Rows go to standard output as they come, all else to standard error. Nothing is written but compiled programs,
# in PROGRAMS (a folder of its own in /tmp).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
device=${1:-opencl:NVIDIA}
seconds=${2:-600}
models=${3:-${MODELS:-$here/models}}
bin=${BIN:-$here}
[ -x "$bin/versus_bench" ] || bin=$here/../../build/release/bin
rules=(${RULES:-rows mace-cache mnn-cores})
turns=${TURNS:-4}
programs=${PROGRAMS:-$(mktemp -d)}
if [ ! -x "$bin/versus_bench" ] || [ ! -e "$models" ]; then
  echo "usage: $0 [DEVICE [SECONDS [MODELS]]]: versus_bench is not in $bin, or there is no $models" >&2
  exit 2
fi
[ ! -d "$bin/lib" ] || export LD_LIBRARY_PATH="$bin/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# Of models whose shapes are open: what is worth timing, not the least that they take.
shape_of() {
  case $1 in
    bodypix_*) echo "input=1x257x257x3" ;;
    byte_sentence_*) echo "input=1x256" ;;
    fsmn_vad_*) echo "speech=1x20x400" ;;
    fsrcnn_x2) echo "IteratorGetNext:0=1x120x160x1" ;;
    gridsample_*) echo "x=1x64x28x40 pos=1x500x2" ;;
    ppocr_cls_*) echo "x=1x3x48x192" ;;
    ppocr_rec_*) echo "x=1x3x32x320" ;;
    ppocrv3_det_*) echo "x=1x3x640x640" ;;
    silero_vad_16k_op15) echo "input=1x576" ;;
  esac
}

# Small files first, and last those whose weights are computed when they are loaded: large networks all of them.
mapfile -t files < <(find -L "$models" -name '*.onnx' -size +0 -printf '%f %s %p\n' |
  awk '{print ($1 ~ /^light_/), $2, $3}' | sort -n -k1,1 -k2,2 | cut -d' ' -f3-)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "$device, ${#files[@]} models in $models, $seconds s" >&2
echo "| network | usual, ms |$(printf ' `%s` |' "${rules[@]}")"
echo "|---|---:|$(printf -- '---|%.0s' "${rules[@]}")"
end=$((SECONDS + seconds))
for i in "${!files[@]}"; do
  file=${files[$i]}
  name=$(basename "$file" .onnx)
  left=$((end - SECONDS))
  if [ "$left" -lt 2 ]; then
    echo "$name: no time is left" >&2
    continue
  fi
  share=$((left / (${#files[@]} - i)))
  [ "$share" -lt "$turns" ] && share=$turns
  # The programs of a first model are compiled within its share; a network that needs more is given up at three shares.
  limit=$((3 * share + 10 < left ? 3 * share + 10 : left))
  usual="--device $device --strict-device --cache $programs"
  for shape in $(shape_of "$name"); do usual+=" --shape $shape"; done
  sides=(--side "$usual")
  for rule in "${rules[@]}"; do sides+=(--side "$usual --groups $rule"); done
  timed=$(awk -v s="$share" -v t="$turns" 'BEGIN {s /= 2; print s < t ? s : t}')
  timeout -k 5 "$limit" "$bin/versus_bench" "${sides[@]}" --seconds "$timed" "$file" >"$work/out" 2>"$work/err"
  code=$?
  row=$(grep -F "| $name.onnx |" "$work/out")
  if [ -z "$row" ]; then
    [ $code -ne 124 ] || echo "not done after $limit s" >"$work/err"
    echo "$name: not measured: $(tail -n 1 "$work/err" | cut -c1-200) (exit code $code)" >&2
    continue
  fi
  # "| name.onnx | ms | ms | ... | ratio (low to high) | steps that differ | ...": the first time and the ratios.
  echo "$row" | awk -F' *[|] *' -v rules="${#rules[@]}" -v name="$name" '{
    printf "| %s | %s |", name, $3
    for (i = 0; i < rules; ++i) printf " %s |", $(4 + rules + 2 * i)
    print ""
  }' | tee -a "$work/rows"
done
[ -e "$work/rows" ] || { echo "no model was measured" >&2; exit 1; }
awk -F' *[|] *' -v rules="${#rules[@]}" '{
  for (i = 0; i < rules; ++i) {
    split($(4 + i), ratio, "[ ()]+")
    sum[i] += log(ratio[1])
    faster[i] += ratio[4] < 1
    slower[i] += ratio[2] > 1
  }
} END {
  printf "| geometric mean of %d | |", NR
  for (i = 0; i < rules; ++i) printf " **%.3f** |", exp(sum[i] / NR)
  printf "\n| surely faster, surely slower | |"
  for (i = 0; i < rules; ++i) printf " %d, %d |", faster[i], slower[i]
  print ""
}' "$work/rows"
