#include "steps/networks.h"

#include <array>

// The files' bytes, by the assembler.
#define FETTLE_EMBED(name)                                                                     \
  __asm__(                                                                                     \
      ".pushsection .rodata\n"                                                                 \
      ".balign 64\n" #name                                                                     \
      "_begin:\n"                                                                              \
      ".incbin \"" FETTLE_MODELS "/" #name ".onnx\"\n" #name "_end:\n.byte 0\n.popsection\n"); \
  extern "C" const std::byte name##_begin[], name##_end[]

FETTLE_EMBED(sr_x2_10k_int8);
FETTLE_EMBED(sr_x2_10k);
FETTLE_EMBED(sr_x2_20k_int8);
FETTLE_EMBED(sr_x2_20k);

namespace fettle::enhance {
namespace {

#define FETTLE_NETWORK(name, halo) \
  Network { #name, {name##_begin, name##_end }, halo }

struct Choice {
  std::string_view name;
  Network of_bytes, of_more;
};

const std::array<Choice, 3>& Choices() {
  static const std::array<Choice, 3> choices = {
      Choice{"fast", FETTLE_NETWORK(sr_x2_10k_int8, 6), FETTLE_NETWORK(sr_x2_10k, 6)},
      Choice{"good", FETTLE_NETWORK(sr_x2_20k_int8, 10), FETTLE_NETWORK(sr_x2_20k, 10)},
      Choice{"best", FETTLE_NETWORK(sr_x2_20k, 10), FETTLE_NETWORK(sr_x2_20k, 10)},
  };
  return choices;
}

}  // namespace

const Network* FindNetwork(std::string_view choice, int depth) {
  for (const Choice& row : Choices())
    if (row.name == choice) return depth > 8 ? &row.of_more : &row.of_bytes;
  return nullptr;
}

std::vector<std::string> NetworkChoices() {
  std::vector<std::string> names;
  for (const Choice& row : Choices()) names.emplace_back(row.name);
  return names;
}

}  // namespace fettle::enhance
