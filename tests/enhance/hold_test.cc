// What covers of people hold: nobody is revealed because a mask was missed.
#include "people/hold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "people/people.h"
#include "tests/enhance/people_frames.h"

namespace fettle::enhance {
namespace {

TEST(Hold, CoversWhatWasMissedForAsLongAsItSays) {
  const Map person = Blob(48, 32, 10, 8, 22, 32), nobody = Nothing(48, 32);
  Hold hold;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Covers(hold.Add(person, i == 0), person));
  EXPECT_FALSE(hold.lost());
  for (int i = 0; i < Hold::kLostFrames + Hold::kHeldFrames; ++i)
    EXPECT_TRUE(Covers(hold.Add(nobody, false), person)) << i;
  Map cover = person;
  for (int i = 0; i < 2; ++i) cover = hold.Add(nobody, false);
  EXPECT_EQ(cover, nobody);  // and no longer
}

TEST(Hold, GrowsWhereAllWasLostAtOnce) {
  const Map person = Blob(48, 32, 10, 8, 22, 30);
  Hold hold;
  for (int i = 0; i < 5; ++i) hold.Add(person, false);
  Map cover;
  for (int i = 0; i < 8; ++i) cover = hold.Add(Nothing(48, 32), false);
  EXPECT_TRUE(hold.lost());
  EXPECT_TRUE(Covers(cover, Blob(48, 32, 8, 6, 24, 32)));
}

TEST(Hold, KeepsCoveringAfterACut) {
  const Map person = Blob(48, 32, 10, 8, 22, 32);
  Hold hold;
  for (int i = 0; i < 5; ++i) hold.Add(person, false);
  for (int i = 0; i < Hold::kHeldFrames; ++i)
    EXPECT_TRUE(Covers(hold.Add(Nothing(48, 32), i == 0), person));
  EXPECT_FALSE(hold.lost());
}

TEST(Hold, MissesOfHalfOfAPersonRevealNobody) {
  std::mt19937 random(7);
  Hold hold;
  const Map person = Blob(64, 36, 20, 6, 40, 36);
  hold.Add(person, true);
  for (int i = 0; i < 300; ++i) {
    Map found = person;
    const int kind = static_cast<int>(random() % 4);  // whole, upper half, lower half, nobody
    for (int y = 0; y < 36; ++y)
      if (kind == 3 || (kind == 1 && y > 18) || (kind == 2 && y <= 18))
        std::fill_n(found.values.begin() + y * 64, 64, uint8_t{0});
    EXPECT_TRUE(Covers(hold.Add(found, false), person)) << i;
    if (i % Hold::kHeldFrames == 0) hold.Add(person, false);
  }
}

TEST(Heads, AreThoughtOutWhereNoneWasFound) {
  Map people = Blob(60, 40, 5, 10, 15, 40);
  for (int y = 0; y < 20; ++y) people.values[static_cast<size_t>(y) * 60 + 50] = 255;
  Map heads = Blob(60, 40, 50, 0, 51, 3);
  AddMissingHeads(people, heads);
  EXPECT_TRUE(Covers(heads, Blob(60, 40, 5, 10, 15, 18)));
  EXPECT_EQ(heads.values[30 * 60 + 10], 0);
  EXPECT_EQ(heads.values[10 * 60 + 50], 0);  // this one's was found
}

TEST(Hats, AreCoveredAboveWhatWasFoundAndInItsGaps) {
  Map cover = Blob(60, 60, 20, 30, 44, 60);  // 24 wide: 8 up
  for (int y = 30; y < 36; ++y) std::fill_n(cover.values.begin() + y * 60 + 28, 6, uint8_t{0});
  CoverHats(cover);
  EXPECT_TRUE(Covers(cover, Blob(60, 60, 20, 22, 44, 60)));
  EXPECT_EQ(cover.values[21 * 60 + 30], 0);
  EXPECT_EQ(cover.values[40 * 60 + 19] + cover.values[40 * 60 + 44], 0);  // no wider
}

TEST(Hats, LeaveTheRoomBetweenPeopleAndAboveFlatThings) {
  Map cover = Blob(60, 40, 2, 10, 10, 40);
  for (int y = 10; y < 40; ++y) std::fill_n(cover.values.begin() + y * 60 + 50, 8, uint8_t{255});
  std::fill_n(cover.values.begin() + 39 * 60, 60, uint8_t{255});  // one piece by what they stand on
  CoverHats(cover);
  EXPECT_EQ(cover.values[20 * 60 + 30], 0);
  Map flat = Blob(60, 40, 0, 38, 60, 40);
  CoverHats(flat);
  EXPECT_EQ(flat, Blob(60, 40, 0, 38, 60, 40));
  Map nobody = Nothing(8, 8);
  CoverHats(nobody);
  EXPECT_EQ(nobody, Nothing(8, 8));
}

}  // namespace
}  // namespace fettle::enhance
