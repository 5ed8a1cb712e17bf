// Enhances streams live.
#pragma once

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "job/plan.h"

namespace fettle::enhance {

struct LiveOptions {
  std::string input_format, output_format;  // empty: by what is there
  double latency = 0;                       // milliseconds; 0: the usual bound
};

/// Whether the input or the output is a stream.
bool IsLive(const JobOptions& job);
/// Whether standard output is for frames, so that texts go to standard error.
bool WritesStandardOutput(const JobOptions& job);

struct LiveRung {
  std::string text;
  int64_t frames = 0;
  double ms = 0;  // as timed before the first frame
};

struct LiveResult {
  std::string input, output;
  int width = 0, height = 0, from_width = 0, from_height = 0;
  std::string steps, encoder, container;
  double bound = 0, p50 = 0, p99 = 0, most = 0;  // milliseconds
  int64_t frames_in = 0, frames_out = 0, late = 0, damaged = 0;
  double seconds = 0;
  std::vector<LiveRung> rungs;  // the first is all steps
  std::vector<std::string> warnings, losses;
  std::string broken;  // why it ended before its end; empty: it did not
};

/// Runs until the stream ends or a stop is asked for, and closes the output. Warnings are printed
/// when they arise. Throws Failure where nothing comes of it.
LiveResult RunLive(const JobOptions& job, const LiveOptions& live, std::stop_token stop);

std::string LiveText(const LiveResult& result);
nlohmann::ordered_json LiveJson(const LiveResult& result);

}  // namespace fettle::enhance
