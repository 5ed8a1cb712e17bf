// PTX of OpenCL's as CUDA takes it.
#include <gtest/gtest.h>

#include "device/cuda/module_text.h"

namespace fettle::cuda {
namespace {

std::string Ptx(std::string_view functions) {
  return fmt::format(
      "//\n\n.version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n\n{}", functions);
}

TEST(ModuleText, WritesOutTheEnvironment) {
  const auto module = ModuleTextOf(Ptx(
      ".entry a(\n)\n{\n\tmov.b32 \t%r1, %envreg3;\n\tmov.b32 \t%r2, %envreg7;\n\tmov.b32 \t%r3, "
      "%envreg9;\n}\n"));
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_NE(module->ptx.find("%r1, 0;"), std::string::npos);
  EXPECT_NE(module->ptx.find("%r2, %nctaid.y;"), std::string::npos);
  EXPECT_NE(module->ptx.find("%r3, 3;"), std::string::npos);
  EXPECT_EQ(module->ptx.find("envreg"), std::string::npos);
  EXPECT_EQ(module->dynamic_bytes.at("a"), 0);
}

TEST(ModuleText, RefusesOtherRegistersOfTheEnvironment) {
  for (const char* name : {"%envreg10", "%envreg31", "%envregs"}) {
    const auto module =
        ModuleTextOf(Ptx(fmt::format(".entry a(\n)\n{{ mov.b32 %r1, {}; }}", name)));
    ASSERT_FALSE(module.ok()) << name;
    EXPECT_EQ(module.status().code(), StatusCode::kUnsupported);
  }
}

TEST(ModuleText, RefusesWhatIsNoPtx) {
  for (const std::string_view binary : {std::string_view(),
                                        std::string_view("\x7f"
                                                         "ELF\0\0",
                                                         6),
                                        std::string_view(".version 9")})
    EXPECT_FALSE(ModuleTextOf(binary).ok());
}

TEST(ModuleText, LittleLocalMemoryStaysDeclared) {
  const std::string given =
      Ptx(".entry a(\n)\n{\n\t.shared .align 4 .b8 a_$_x[49152];\n\tmov.u64 \t%rd1, a_$_x;\n}\n");
  const auto module = ModuleTextOf(given);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->ptx, given);
  EXPECT_EQ(module->dynamic_bytes.at("a"), 0);
}

TEST(ModuleText, MuchLocalMemoryIsOneArray) {
  const auto module = ModuleTextOf(Ptx(
      "\t// .globl\ta\n.entry a(\n)\n{\n\t.shared .align 4 .b8 a_$_x[50000];\n"
      "\t.shared .align 16 .b8 a_$_xy[256];\n\tmov.u64 \t%rd1, a_$_x;\n\tmov.u64 \t%rd2, "
      "a_$_xy;\n\tld.shared.f32 \t%f2, [a_$_xy+20];\n}\n.entry b(\n)\n{\n\t.shared .align 4 .b8 "
      "b_$_x[16];\n\tmov.u64 \t%rd1, b_$_x;\n}\n"));
  ASSERT_TRUE(module.ok()) << module.status().message();
  const std::string& ptx = module->ptx;
  EXPECT_NE(ptx.find(".extern .shared .align 128 .b8 fettle_local_memory[];"), std::string::npos);
  EXPECT_NE(ptx.find("%rd1, fettle_local_memory+0;"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("%rd2, fettle_local_memory+50048;"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("[fettle_local_memory+50068]"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("a_$_x"), std::string::npos);
  EXPECT_NE(ptx.find("b_$_x[16];"), std::string::npos);
  EXPECT_EQ(module->dynamic_bytes.at("a"), 50048 + 256);
  EXPECT_EQ(module->dynamic_bytes.at("b"), 0);
}

TEST(LinkText, StandsInForMuchLocalMemoryAndKeepsTheEnvironment) {
  const auto module = LinkTextOf(
      Ptx(".entry a(\n)\n{\n\t.shared .align 4 .b8 a_$_x[50000];\n\t.shared .align 16 .b8 "
          "a_$_xy[256];\n\tmov.b32 \t%r1, %envreg3;\n\tld.shared.f32 \t%f2, [a_$_xy+20];\n}\n"
          ".entry b(\n)\n{\n\t.shared .align 4 .b8 b_$_x[16];\n}\n"));
  ASSERT_TRUE(module.ok()) << module.status().message();
  const std::string& ptx = module->ptx;
  EXPECT_NE(ptx.find(".shared .align 128 .b8 fettle_local_memory[128];"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("a_$_x"), std::string::npos);
  EXPECT_NE(ptx.find("[fettle_local_memory+50068]"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("%envreg3"), std::string::npos);
  EXPECT_NE(ptx.find("b_$_x[16]"), std::string::npos);
  EXPECT_EQ(module->dynamic_bytes.at("a"), 50048 + 256);
  EXPECT_EQ(module->dynamic_bytes.at("b"), 0);
}

TEST(LinkText, RefusesWhatIsNoPtx) {
  EXPECT_FALSE(LinkTextOf("\x7f"
                          "ELF")
                   .ok());
}

}  // namespace
}  // namespace fettle::cuda
