#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ShuffleCases() {
  static constexpr Case kCases[] = {
      {"shuffle.two_groups",
       "input %x: f32[1x116x28x28]\n%y = ChannelShuffle(%x) {groups=2}\noutput %y\n", true},
      {"shuffle.many_groups_prime",
       "input %x: f32[2x15x3x5]\n%y = ChannelShuffle(%x) {groups=5}\noutput %y\n"},
      {"shuffle.one_group",
       "input %x: f32[1x6x2x2]\n%y = ChannelShuffle(%x) {groups=1}\noutput %y\n"},
      {"shuffle.channels_alone",
       "input %x: u8[3x12]\n%y = ChannelShuffle(%x) {groups=12}\noutput %y\n"},
      {"shuffle.joined",
       "input %a: u8[1x58x7x5]\ninput %b: u8[1x58x7x5]\n%c = Concat(%a, %b) {axis=1}\n"
       "%y = ChannelShuffle(%c) {groups=2}\noutput %y\n"},
      {"shuffle.rank_3", "input %x: f16[1x8x7]\n%y = ChannelShuffle(%x) {groups=4}\noutput %y\n"},
      {"shuffle.empty", "input %x: f32[0x4x2]\n%y = ChannelShuffle(%x) {groups=2}\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
