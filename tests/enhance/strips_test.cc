// Strips of planes for networks, and results that are no pictures.
#include "steps/strips.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/enhance/alert_frames.h"

namespace fettle::enhance {
namespace {

TEST(Strips, HoldEachRowOnceAndWhatItIsSeenBy) {
  for (const auto& [height, rows, halo] :
       {std::tuple{1, 1, 5}, {100, 100, 5}, {100, 42, 5}, {97, 33, 10}, {480, 138, 5}}) {
    int done = 0;
    for (const auto [first, begin, end] : StripsOf(height, rows, halo)) {
      EXPECT_EQ(begin, done);
      EXPECT_GT(end, begin);
      EXPECT_GE(first, 0);
      EXPECT_LE(first + rows, height);
      EXPECT_TRUE(first == 0 || begin - first >= halo);
      EXPECT_TRUE(first + rows == height || first + rows - end >= halo);
      done = end;
    }
    EXPECT_EQ(done, height);
  }
}

TEST(Strips, EndAtResultsThatAreNoPicture) {
  const FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 16, 8, 102);  // 0.4 of white
  const Plane luma = PlaneOf(*frame, 0);
  for (const double mean : {0.35, 0.4, 0.45}) EXPECT_NO_THROW(CheckMean("superres", mean, luma));
  const double none = NAN, endless = INFINITY, black = 0, white = 1;
  for (const double mean : {none, endless, -endless, black, white}) try {
      CheckMean("superres", mean, luma);
      ADD_FAILURE() << mean;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), kExitFailed);
      EXPECT_STREQ(failure.what(),
                   "superres: the result is wrong: it is not as bright as its source");
    }
}

}  // namespace
}  // namespace fettle::enhance
