// fettle quantise MODEL.gguf: a language model's matrices in types of fewer bits.
#pragma once

#include <string>

#include "jobs/options.h"

namespace fettle::tools {

struct GgufQuantisation {
  CommonOptions common;
  std::string model, output;
  std::string type;  // of all matrices
  double bits = 0;   // of a weight in the mean, at most; 0: not given
  /// By how much perplexity may grow, as in "+2%"; "": not given.
  std::string perplexity;
  std::string text;  // a file to measure on; "": what the model says itself
  int64_t tokens = 512;
};

/// Whether a file is one for QuantiseGguf: by its name, or by how it begins.
bool IsGgufFile(const std::string& path);
/// Why it is no growth of a perplexity; "": it is one.
std::string CheckGrowth(const std::string& text);
/// Writes options.output, whole or not at all, and prints what became of which matrix. Returns the
/// exit code.
int QuantiseGguf(const GgufQuantisation& options);

}  // namespace fettle::tools
