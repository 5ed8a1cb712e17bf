// Which encoders each container gives back.
#include "av/carrying.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "av/container.h"

namespace fettle::enhance {
namespace {

using Endings = std::set<std::string>;

TEST(Carrying, NamesContainersThatGiveFramesBackAndNoOthers) {
  const Endings all = {"mp4", "mkv", "ts", "mov", "avi", "h264", "yuv", "y4m", "ogv"};
  const std::map<std::string_view, Endings> held = {
      {"libx264", {"mp4", "mkv", "ts", "mov", "avi", "h264"}},
      {"libx265", {"mp4", "mkv", "ts", "mov"}},
      {"libvpx-vp9", {"mp4", "mkv", "avi"}},
      {"libsvtav1", {"mp4", "mkv", "avi"}},
      {"mpeg4", {"mp4", "mkv", "ts", "mov", "avi"}},
      {"prores_ks", {"mkv", "mov"}},
      {"ffv1", {"mkv", "avi"}},
      {"qtrle", {"mov"}},
      {"png", {"mp4", "mov", "avi"}}};
  SilenceAv();
  for (const EncoderRow& row : EncoderRows()) {
    if (!IsPresent(row)) continue;
    for (const std::string& ending : all)
      EXPECT_EQ(Carries(ContainerOf("a." + ending), row), held.at(row.name).contains(ending))
          << row.name << " in " << ending;
  }
}

}  // namespace
}  // namespace fettle::enhance
