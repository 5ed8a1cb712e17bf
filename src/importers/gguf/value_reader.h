// Values of an architecture in a file's metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/gguf/decoder.h"

namespace fettle::gguf {

/// Those whose names begin with the architecture's. Fails as File's functions do.
class ValueReader {
 protected:
  ValueReader(const File& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  std::string Key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }
  Result<int64_t> Int(std::string_view name, std::optional<int64_t> fallback, int64_t low,
                      int64_t high) const {
    return file_.Int(Key(name), fallback, low, high);
  }
  Result<double> Float(std::string_view name, std::optional<double> fallback) const {
    return file_.Float(Key(name), fallback);
  }
  Result<bool> Flag(std::string_view name, bool fallback) const;
  /// A number of all layers, or one for each of `layers`, of which some may be 0; `each` gets them.
  /// The result is the largest. Others than one and 0 are kUnsupported unless they `may_differ`.
  Result<int64_t> OfLayers(std::string_view name, std::optional<int64_t> fallback, int64_t low,
                           int64_t high, int64_t layers, std::vector<int64_t>& each,
                           bool may_differ = false) const;

  /// The parameters of each layer's activation, under names without the architecture.
  Result<std::vector<Xielu>> ReadXielus(int64_t layers) const;

  const File& file_;

 private:
  std::string architecture_;
};

}  // namespace fettle::gguf
