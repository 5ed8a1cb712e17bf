// Runs the program for its arguments: one input, or a folder of them.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "job/batch.h"
#include "live/live.h"
#include "report/report.h"

namespace fettle::enhance {

struct Arguments {
  JobOptions job;
  LiveOptions live;  // where the input or the output is a stream
  bool json = false;
  int jobs = 1;  // of a folder, at a time
};

/// The result for one input.
struct Outcome {
  Json document;
  std::string text;  // for people, where no JSON is wanted
  int code = kExitOk;
  bool skipped = false;  // the output was there already
};

/// Plans and runs one input. Warnings go to stderr; with `jobs` of one a plan that is to be shown
/// is printed before work starts. Throws Failure.
Outcome EnhanceOne(JobOptions options, const Arguments& arguments, std::stop_token stop);

/// All files of a folder, `jobs` at a time; a failure does not stop the others. Prints each file's
/// result, or one document. Returns the first exit code, in the files' order, that is not 0.
int EnhanceAll(const Batch& batch, const Arguments& arguments, std::stop_token stop);

/// Enhances a stream live, and prints the result: to standard error where the frames go to standard
/// output. Returns the exit code. Throws Failure.
int EnhanceLive(const Arguments& arguments, std::stop_token stop);

/// The failure that is being handled, whatever was thrown.
Failure Caught();
/// {error {message, status, exit_code}}, as other commands have it.
Json ErrorJson(const Failure& failure);

/// A document as it is printed.
std::string TextOf(const Json& document);

}  // namespace fettle::enhance
