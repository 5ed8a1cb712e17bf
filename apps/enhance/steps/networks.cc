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
FETTLE_EMBED(deblock_10k_int8);
FETTLE_EMBED(deblock_10k);
FETTLE_EMBED(deblock_58k);
FETTLE_EMBED(denoise_37k);
FETTLE_EMBED(denoise_97k);
FETTLE_EMBED(person_108k);
FETTLE_EMBED(alert_101k_int8);
FETTLE_EMBED(alert_101k);

namespace fettle::enhance {
namespace {

#define FETTLE_NETWORK(name, halo, block) \
  Network { #name, {name##_begin, name##_end }, halo, block }

struct Choice {
  std::string_view step, name;
  Network of_bytes, of_more;
};

/// The networks of a step in the order of their cost.
const std::array<Choice, 9>& Choices() {
  static const std::array<Choice, 9> choices = {
      Choice{"superres", "fast", FETTLE_NETWORK(sr_x2_10k_int8, 6, 1),
             FETTLE_NETWORK(sr_x2_10k, 6, 1)},
      Choice{"superres", "good", FETTLE_NETWORK(sr_x2_20k_int8, 10, 1),
             FETTLE_NETWORK(sr_x2_20k, 10, 1)},
      Choice{"superres", "best", FETTLE_NETWORK(sr_x2_20k, 10, 1),
             FETTLE_NETWORK(sr_x2_20k, 10, 1)},
      Choice{"deblock", "fast", FETTLE_NETWORK(deblock_10k_int8, 12, 2),
             FETTLE_NETWORK(deblock_10k, 12, 2)},
      Choice{"deblock", "good", FETTLE_NETWORK(deblock_10k, 12, 2),
             FETTLE_NETWORK(deblock_10k, 12, 2)},
      Choice{"deblock", "best", FETTLE_NETWORK(deblock_58k, 16, 2),
             FETTLE_NETWORK(deblock_58k, 16, 2)},
      Choice{"denoise", "fast", FETTLE_NETWORK(denoise_37k, 20, 4),
             FETTLE_NETWORK(denoise_37k, 20, 4)},
      Choice{"denoise", "best", FETTLE_NETWORK(denoise_97k, 24, 4),
             FETTLE_NETWORK(denoise_97k, 24, 4)},
      Choice{"alert", "best", FETTLE_NETWORK(alert_101k_int8, 0, 1),
             FETTLE_NETWORK(alert_101k, 0, 1)},
  };
  return choices;
}

}  // namespace

const Network* FindNetwork(std::string_view step, std::string_view choice, int depth) {
  const Network* found = nullptr;
  for (const Choice& row : Choices()) {
    if (row.step != step) continue;
    found = depth > 8 ? &row.of_more : &row.of_bytes;
    if (row.name == choice) return found;
  }
  return found;
}

const Network& MattingNetwork() {
  static const Network network = FETTLE_NETWORK(person_108k, 0, 1);
  return network;
}

std::vector<std::string> NetworkChoices() {
  std::vector<std::string> names;
  for (const Choice& row : Choices())
    if (row.step == "superres") names.emplace_back(row.name);
  return names;
}

}  // namespace fettle::enhance
