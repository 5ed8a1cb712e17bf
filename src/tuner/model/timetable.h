// How a tuning divides the time until its deadline: measuring, comparing whole networks, writing.
#pragma once

#include <cstdint>
#include <string>

#include "tuner/model/tune_model.h"

namespace fettle::tuner {

inline double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// How long the preferred plan's session took, in seconds, without compiling programs.
struct DefaultRun {
  double prepare_seconds = 0;
  double first_seconds = 0;
  double run_seconds = 0;  // the last one
  int runs = 0;            // how many were made
};

struct Timetable {
  /// Measuring ends then; 0: whenever it is done.
  int64_t tune_until_ns = 0;
  /// The gate ends then.
  int64_t gate_until_ns = 0;
  /// Whether there is time to compare whole networks; if not, why.
  bool compares = true;
  std::string reason;

  /// For `options.deadline_ns`, which is set, seen at `now_ns`. Time for writing is kept where
  /// `options.writes_package`.
  static Timetable Make(const TuneModelOptions& options, const DefaultRun& run,
                        const runtime::Model& model, int64_t now_ns);
  /// The seconds kept for writing where `left` seconds remain.
  static double WriteSeconds(const TuneModelOptions& options, const runtime::Model& model,
                             double left);
  /// Whether a search that begins at `now_ns` is worth its start.
  bool MeasuresFor(int64_t now_ns) const;
  /// What is left for the gate at `now_ns`.
  double GateSeconds(int64_t now_ns) const;
  /// Whether the packed weights of living sessions can be written by `deadline_ns` (0: none).
  static bool AffordsPackedWeights(const runtime::Model& model, double written_per_second,
                                   int64_t deadline_ns, int64_t now_ns);
};

}  // namespace fettle::tuner
