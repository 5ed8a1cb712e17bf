// What is seen of packets that a container moves, loses, hides or cuts anew.
#include "av/packet_log.h"

#include <gtest/gtest.h>

#include <vector>

namespace fettle::enhance {
namespace {

using Packets = std::vector<PacketSeen>;

/// `count` packets of `size` bytes, each a tenth of a second after the one before.
Packets Steady(int count, int64_t size) {
  Packets packets;
  for (int i = 0; i < count; ++i)
    packets.push_back({.time = 0.1 * i, .size = size, .sum = static_cast<uint32_t>(i)});
  return packets;
}

double MostOf(const PacketChange& change) {
  double most = 0;
  for (const double move : change.moves) most = std::max(most, std::abs(move));
  return most;
}

TEST(PacketLog, SeesTheOnePacketOfManyThatIsMoved) {
  const Packets before = Steady(9, 40);
  Packets after = before;
  after[4].time += 0.25;
  const PacketChange change = ChangeOf(before, after);
  EXPECT_EQ(change.moves.size(), 9);
  EXPECT_DOUBLE_EQ(MostOf(change), 0.25);
  EXPECT_EQ(change.lost + change.others, 0);
}

TEST(PacketLog, CountsWhatIsLostAndWhatIsOthers) {
  const Packets before = Steady(9, 40);
  EXPECT_EQ(ChangeOf(before, Packets(before.begin(), before.end() - 2)).lost, 2);
  EXPECT_EQ(ChangeOf(before, {}).lost, 9);
  Packets after = before;
  after[3].sum = 77;
  EXPECT_EQ(ChangeOf(before, after).others, 1);
  for (PacketSeen& one : after) one.size += 7;  // headers
  EXPECT_EQ(ChangeOf(before, after).others, 0);
}

TEST(PacketLog, LeavesOutThePacketThatOneFileHides) {
  const Packets shown = Steady(5, 40);
  Packets hides = shown;
  hides[0].hidden = true;
  for (const PacketChange& change : {ChangeOf(shown, hides), ChangeOf(hides, shown)}) {
    EXPECT_EQ(change.lost, 0);
    EXPECT_EQ(change.moves.size(), 4);
    EXPECT_EQ(MostOf(change), 0);
  }
}

TEST(PacketLog, MeetsPacketsOfAnotherLengthByTheirBytes) {
  const Packets before = Steady(6, 40), halves = [] {
    Packets cut;
    for (int i = 0; i < 12; ++i) cut.push_back({.time = 0.05 * i, .size = 20});
    return cut;
  }();
  const PacketChange change = ChangeOf(before, halves);
  EXPECT_EQ(change.moves.size(), 12);
  EXPECT_NEAR(MostOf(change), 0, 1e-12);
  Packets late = halves;
  late[11].time += 0.5;
  EXPECT_NEAR(MostOf(ChangeOf(before, late)), 0.5, 1e-12);
}

TEST(PacketLog, HasNoMoveWhereOneFileTellsNoTime) {
  const Packets before = Steady(3, 40);
  Packets after = before;
  for (PacketSeen& one : after) one.time = PacketSeen::kNoTime;
  EXPECT_TRUE(ChangeOf(before, after).moves.empty());
}

}  // namespace
}  // namespace fettle::enhance
