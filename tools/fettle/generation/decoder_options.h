// What the options of all commands mean for a language model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "jobs/options.h"
#include "language/generator.h"

namespace fettle::tools {

/// Threads, the device that --device names, `cache` as AddCacheType reads it, and that Ctrl-C
/// cancels. Fails as OpenAccelerator and CheckCpuOptions do.
Result<language::DecoderOptions> DecoderOptionsFor(const CommonOptions& common, int64_t context,
                                                   const std::string& cache,
                                                   std::vector<std::string>& warnings);

/// --cache-type.
CLI::Option* AddCacheType(CLI::App& sub, std::string& type);

/// The device beside the CPU that computes; null: the CPU alone.
inline const Device* DeviceOf(const language::SequenceDecoder& decoder) {
  const DeviceSet devices = decoder.session().devices();
  return devices.beside_cpu().empty() ? nullptr : devices.beside_cpu()[0];
}

}  // namespace fettle::tools
