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
  int halo;   // rows beyond a strip that its pixels see: `block` for each 3x3 layer; slices of
              // alert bring their own (alert/slices.h)
  int block;  // the side of the squares that become channels; sides of its input are multiples
};

/// The network of `step` for `--network fast|good|best`, or its best where it has none of that
/// name, for samples of `depth` bits: bytes only where samples are. Null for steps without
/// networks.
const Network* FindNetwork(std::string_view step, std::string_view choice, int depth);
/// The one that finds people, on whole frames at its own size.
const Network& MattingNetwork();
/// What --network takes.
std::vector<std::string> NetworkChoices();

}  // namespace fettle::enhance
