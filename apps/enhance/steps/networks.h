// The networks of models/, which are part of the program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fettle::enhance {

struct Network {
  std::string_view name;  // its file without .onnx
  std::span<const std::byte> bytes;
  int halo;  // rows beyond a strip that its pixels see: one for each 3x3 layer
};

/// The network of `--network fast|good|best` for samples of `depth` bits: bytes only where samples
/// are. Null for other words.
const Network* FindNetwork(std::string_view choice, int depth);
std::vector<std::string> NetworkChoices();

}  // namespace fettle::enhance
