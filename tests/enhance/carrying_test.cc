// Which encoders each container gives back.
#include "av/carrying.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "av/choice.h"
#include "av/container.h"
#include "av/encoder.h"
#include "av/hardware.h"

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
    if (!IsPresent(row) || IsHardware(row)) continue;
    for (const std::string& ending : all)
      EXPECT_EQ(Carries(ContainerOf("a." + ending), row), held.at(row.name).contains(ending))
          << row.name << " in " << ending;
  }
}

TEST(Hardware, IsNeverChosenByItselfAndRefusedWhereItIsNot) {
  for (const std::string ending : {"mp4", "mkv", "ts"}) {
    const AVOutputFormat& container = ContainerOf("a." + ending);
    for (const std::string& name :
         EncodersToTry("auto", container, "." + ending, AV_PIX_FMT_YUV420P))
      EXPECT_FALSE(name.ends_with("_nvenc") || name.ends_with("_vaapi")) << name;
  }
  for (const EncoderRow& row : EncoderRows()) {
    if (!IsPresent(row) || !IsHardware(row)) continue;
    const AVOutputFormat& mkv = ContainerOf("a.mkv");
    try {
      (void)ChooseEncoder(std::string(row.name), mkv, ".mkv", AV_PIX_FMT_YUV420P);
      EXPECT_TRUE(Carries(mkv, row)) << "a machine that has it";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), kExitUnsupported);
      EXPECT_NE(std::string(failure.what()).find("this machine has no"), std::string::npos)
          << failure.what();
    }
  }
}

TEST(Hardware, IsGivenSamplesThatItTakes) {
  EXPECT_EQ(EncoderFormat("h264_vaapi", AV_PIX_FMT_YUV420P10, false), AV_PIX_FMT_NV12);
  EXPECT_EQ(EncoderFormat("hevc_vaapi", AV_PIX_FMT_YUV420P10, false), AV_PIX_FMT_P010);
}

}  // namespace
}  // namespace fettle::enhance
