// Marked instructions in the binaries of programs.
#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "device/opencl/program/ptx.h"

namespace fettle {
namespace {

using testing::HasSubstr;

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Ptx, MarkedInstructionsBecomeInstructionsOfTheirCapability) {
  const auto made = WithMarkedInstructions(
      BytesOf("//\n.version 8.4\n.target sm_90, texmode\n//@wgmma.fence;\nret; //@a //@b\n"));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(TextOf(*made), "//\n.version 8.4\n.target sm_90a, texmode\nwgmma.fence;\nret; a b\n");
}

TEST(Ptx, OtherBinariesAreLeftAlone) {
  for (const std::string_view text :
       {"", "\n.version 8.4\n.target sm_90\nret;\n", "ELF //@wgmma", "\n.version 1 //@"}) {
    const auto made = WithMarkedInstructions(BytesOf(text));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(made->empty()) << text;
  }
}

TEST(Ptx, AnotherCapabilityIsRefused) {
  for (const std::string_view target : {"sm_80", "sm_900", "sm_90a"}) {
    const auto made = WithMarkedInstructions(
        BytesOf("//\n.version 8.4\n.target " + std::string(target) + "\n//@wgmma.fence;\n"));
    EXPECT_THAT(std::string(made.status().message()), HasSubstr("PTX is for another")) << target;
  }
}

}  // namespace
}  // namespace fettle
