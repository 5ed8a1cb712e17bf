// Sums of no terms, and products of no rows, pixels or filters: what is left is the bias, or
// nothing.
#include <fmt/format.h>

#include <string>

#include "ops/cases.h"

namespace fettle::ops {
namespace {

struct Core {
  std::string_view name;
  /// {0} rows or images, {1} input channels, {2} pixels or columns of them, {3} filters.
  std::string_view text;
};

constexpr Core kCores[] = {
    {"conv_qdq",
     "input %x: u8[{0}x{1}x{2}x6] = noise(0, 255)\nconst %w: i8[{3}x{1}x3x3] = noise(-127, 127)\n"
     "const %b: f32[{3}]\nconst %sx: f32[] = 0.02\nconst %zx: u8[] = 121\n"
     "const %sw: f32[{3}] = noise(0.001, 0.01)\nconst %zw: i8[{3}] = splat 0\n"
     "const %sy: f32[] = 0.05\nconst %zy: u8[] = 100\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
     "%dw = DequantizeLinear(%w, %sw, %zw) {{axis=0}}\n"
     "%c = Conv(%dx, %dw, %b) {{pads=[2,1,2,1]}}\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
    {"conv_integer",
     "input %x: u8[{0}x{1}x{2}x6] = noise(100, 150)\nconst %w: u8[{3}x{1}x3x3] = noise(0, 255)\n"
     "const %xz: u8[] = 128\nconst %wz: u8[] = 9\n"
     "%y = ConvInteger(%x, %w, %xz, %wz) {{pads=[2,1,2,1]}}\noutput %y\n"},
    {"dynamic_conv",
     "input %x: u8[{0}x{1}x{2}x6] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
     "input %s: f32[] = noise(0.001, 0.01)\nconst %w: i8[{3}x{1}x3x3] = noise(-9, 9)\n"
     "const %b: f32[1x{3}x1x1]\n%c = ConvInteger(%x, %w, %z) {{pads=[2,1,2,1]}}\n"
     "%f = Cast(%c) {{to=\"f32\"}}\n%m = Mul(%f, %s)\n%y = Add(%m, %b)\noutput %y\n"},
    {"matmul_integer",
     "input %a: u8[{0}x{2}x{1}] = noise(0, 255)\nconst %b: i8[{1}x{3}] = noise(-127, 127)\n"
     "const %za: u8[] = 131\n%y = MatMulInteger(%a, %b, %za)\noutput %y\n"},
    {"dynamic_matmul",
     "input %x: u8[{0}x{2}x{1}] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
     "input %s: f32[] = noise(0.001, 0.01)\nconst %w: i8[{1}x{3}] = noise(-9, 9)\n"
     "const %b: f32[{3}]\n%c = MatMulInteger(%x, %w, %z)\n%f = Cast(%c) {{to=\"f32\"}}\n"
     "%m = Mul(%f, %s)\n%y = Add(%m, %b)\noutput %y\n"},
    {"matmul_qdq",
     "input %x: u8[{0}x{2}x{1}] = noise(0, 255)\ninput %w: u8[{1}x{3}] = noise(0, 255)\n"
     "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[] = 0.01\n"
     "const %zw: u8[] = 99\nconst %sy: f32[] = 0.05\nconst %zy: u8[] = 100\n"
     "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw, %zw)\n"
     "%c = MatMul(%dx, %dw)\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
    {"gemm_qdq",
     "input %x: u8[{0}x{1}] = noise(0, 255)\nconst %w: i8[{3}x{1}] = noise(-127, 127)\n"
     "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[{3}] = noise(0.001, 0.01)\n"
     "const %zw: i8[{3}] = splat 0\nconst %b: f32[{3}]\nconst %sy: f32[] = 0.05\n"
     "const %zy: u8[] = 100\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
     "%dw = DequantizeLinear(%w, %sw, %zw) {{axis=0}}\n%c = Gemm(%dx, %dw, %b) {{transB=1}}\n"
     "%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
    {"conv_transpose",
     "input %x: f32[{0}x{1}x{2}x6]\nconst %w: f32[{1}x{3}x3x3]\nconst %b: f32[{3}]\n"
     "%y = ConvTranspose(%x, %w, %b) {{strides=[2,1]}}\noutput %y\n"},
    {"conv_transpose_f16",
     "input %x: f16[{0}x{1}x{2}x6]\nconst %w: f16[{1}x{3}x2x2]\nconst %b: f16[{3}]\n"
     "%y = ConvTranspose(%x, %w, %b) {{strides=[2,2]}}\noutput %y\n"},
    {"gemm",
     "input %x: f32[{0}x{1}]\nconst %w: f32[{3}x{1}]\nconst %b: f32[{3}]\n"
     "%y = Gemm(%x, %w, %b) {{beta=2.0, transB=1}}\noutput %y\n"},
    {"matmul",
     "input %x: f32[{0}x{2}x{1}]\ninput %w: f32[{1}x{3}]\n%c = MatMul(%x, %w)\n%y = Relu(%c)\n"
     "output %y\n"},
    {"dynamic",
     "input %x: f32[{0}x{1}x{2}] = noise(-2, 5)\n%y, %s, %z = DynamicQuantizeLinear(%x)\n"
     "output %y\noutput %s\noutput %z\n"},
};

/// Which extent is 0.
struct Nothing {
  std::string_view name;
  int rows, channels, pixels, filters;
};
constexpr Nothing kNothing[] = {{"batch", 0, 5, 4, 7},
                                {"channels", 6, 0, 4, 7},
                                {"pixels", 2, 5, 0, 7},
                                {"filters", 2, 5, 4, 0}};

struct Texts {
  std::vector<std::string> names, graphs;
  std::vector<Case> cases;
};

Texts* MakeTexts() {
  auto* texts = new Texts;
  for (const Core& core : kCores) {
    for (const Nothing& no : kNothing) {
      // No pixels cannot be enlarged: refused.
      if (no.pixels == 0 && core.name.starts_with("conv_transpose")) continue;
      texts->names.push_back(fmt::format("quantise.{}_no_{}", core.name, no.name));
      texts->graphs.push_back(
          fmt::format(fmt::runtime(core.text), no.rows, no.channels, no.pixels, no.filters));
    }
  }
  for (size_t i = 0; i < texts->names.size(); ++i)
    texts->cases.push_back({texts->names[i], texts->graphs[i]});
  return texts;
}

}  // namespace

std::span<const Case> QuantiseNothingCases() {
  static const Texts* texts = MakeTexts();
  return texts->cases;
}

}  // namespace fettle::ops
