// fettle bench --generate: tokens per second of a language model.
#pragma once

#include <string>

#include "jobs/exit_code.h"
#include "jobs/options.h"

namespace fettle::tools {

/// Prompts and answers of so many seeded tokens.
struct GenerateLength {
  std::string text;  // "512,128"
  int64_t sequences = 1;
  std::string cache = "f16";  // as ReadCacheType reads it
};

/// What is wrong with GenerateLength::text; "": nothing.
std::string CheckGenerateLength(const std::string& text);

/// Reads a prompt of a GGUF file's language model and then token by token, again and again, and
/// prints medians of `passes` behind a first one (0: 3), and with `profile` the kernels of a prompt
/// and of a token, each of which is waited for. Returns the exit code; an interruption ends it with
/// what was measured.
int BenchGenerate(const std::string& path, const GenerateLength& length, int passes, bool profile,
                  const CommonOptions& common);

}  // namespace fettle::tools
