// One element-wise operator alone: rows longer than the scratch of a program, and many short ones,
// read where they are or by way of the scratch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuElementwiseChain;

namespace {

constexpr Tolerance kLoneBits = {.atol = 0, .rtol = 0};

/// The shapes of three operands; the first has the output's.
constexpr std::string_view kLoneShapes[][3] = {
    {"3x5003", "3x5003", ""},   {"3x5003", "3x1", "3x1"}, {"3x5003", "5003", "3x1"},
    {"2x17001", "", "2x1"},     {"5003x3", "5003x1", ""}, {"9001x2", "9001x1", "9001x1"},
    {"5003x3", "3", "5003x1"},  {"1x40001", "", "40001"}, {"7x1x2049", "7x1x1", "2049"},
    {"20011x1", "20011x1", ""}, {"1", "1", "1"},          {"4100x4", "4100x4", "4100x1"},
};

void CheckLone(std::string_view text) {
  SCOPED_TRACE(text);
  CheckKernel(kCpuElementwiseChain, text, kLoneBits);
}

TEST(Lone, OperatorsOfFloatsAndHalves) {
  for (const auto& [x, a, b] : kLoneShapes) {
    for (const std::string_view type : {"f32", "f16"}) {
      const std::string operands = fmt::format(
          "input %x: {0}[{1}] = noise(-3, 3)\ninput %a: {0}[{2}] = noise(-2, 2)\n"
          "input %b: {0}[{3}] = noise(-2, 2)\n",
          type, x, a, b);
      for (const std::string_view op : {"Abs(%x)", "Neg(%x)", "Max(%x, %a)", "Max(%b, %x)"}) {
        std::string used = operands;
        for (const char name : {'a', 'b'}) {
          if (op.find(std::string{'%', name}) != std::string_view::npos) continue;
          const size_t at = used.find(std::string("input %") + name);
          used.erase(at, used.find('\n', at) + 1 - at);
        }
        CheckLone(fmt::format("{}%y = {}\noutput %y\n", used, op));
      }
    }
  }
}

TEST(Lone, Conversions) {
  for (const std::string_view shape : {"3x5003", "1x40001", "5003x3", "1"}) {
    for (const auto& [from, to] : {std::pair("f32", "f16"), std::pair("f16", "f32"),
                                   std::pair("f32", "bf16"), std::pair("bf16", "f32")}) {
      CheckLone(
          fmt::format("input %x: {}[{}] = noise(-3, 3)\n%y = Cast(%x) {{to=\"{}\"}}\noutput %y\n",
                      from, shape, to));
    }
  }
}

TEST(Lone, QuantisedToBytes) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const std::string_view type : {"u8", "i8"}) {
      for (const std::string_view scales : {"", "3"}) {
        for (const std::string_view shape : {"3x5003", "3x1", "3x1x2049"}) {
          // Quotients beyond all integers are held among the bytes, too.
          for (const std::string_view most : {"3", "1e10", "1e18"}) {
            CheckLone(
                fmt::format("input %x: f32[{1}] = noise(-{3}, {3})\n"
                            "input %s: f32[{2}] = noise(0.01, 0.1)\n"
                            "input %z: {0}[{2}] = noise(0, 9)\n"
                            "%y = QuantizeLinear(%x, %s, %z) {{axis=0}}\noutput %y\n",
                            type, shape, scales, most));
          }
        }
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
