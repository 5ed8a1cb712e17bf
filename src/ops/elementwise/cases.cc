#include "ops/cases.h"

#include <deque>
#include <string>

#include "ops/elementwise/op.h"

namespace fettle::ops {
namespace {

/// Cases with something of their own; below, every row of the tables gets plain ones.
constexpr Case kSpecialCases[] = {
    {"elementwise.add_bench",
     "input %a: f32[1x64x112x112]\ninput %b: f32[1x64x112x112]\n%y = Add(%a, %b)\noutput %y\n",
     true},
    {"elementwise.add_bias_bench",
     "input %a: f32[1x64x112x112]\nconst %b: f32[64x1x1]\n%y = Add(%a, %b)\noutput %y\n", true},
    {"elementwise.add_both_broadcast",
     "input %a: f32[7x1x5]\ninput %b: f32[3x1]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.add_empty",
     "input %a: f32[0x3]\ninput %b: f32[3]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.add_f16",
     "input %a: f16[3x17]\ninput %b: f16[17]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.add_f64",
     "input %a: f64[3x17]\ninput %b: f64[17]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.add_scalars", "input %a: f32[]\ninput %b: f32[1]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.add_volume",
     "input %a: f32[2x6x3x4x5]\ninput %b: f32[1x6x1x1x1]\nconst %c: f32[6x1x1x1]\n%s = Add(%a, "
     "%b)\n"
     "%y = Mul(%s, %c)\noutput %y\n"},
    {"elementwise.add_volume_planes",
     "input %a: f32[1x6x3x4x5]\nconst %b: f32[4x1]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.add_volume_depths",
     "input %a: f32[1x6x3x4x5]\ninput %b: f32[1x1x3x1x1]\n%y = Add(%a, %b)\noutput %y\n"},
    {"elementwise.bitcast_f32", "input %x: f32[3x7x2]\n%y = BitCast(%x) {to=\"i32\"}\noutput %y\n"},
    {"elementwise.bitcast_i4",
     "input %x: u4[37] = noise(0, 15)\n%y = BitCast(%x) {to=\"i4\"}\noutput %y\n"},
    {"elementwise.bitcast_to_bool",
     "input %x: u8[5x3] = noise(0, 3)\n%y = BitCast(%x) {to=\"bool\"}\noutput %y\n"},
    {"elementwise.bits_of_halves_abs", "input %x: f16[5x77]\n%y = Abs(%x)\noutput %y\n"},
    {"elementwise.bits_of_halves_neg", "input %x: bf16[5x77]\n%y = Neg(%x)\noutput %y\n"},
    {"elementwise.bits_of_halves_relu",
     "input %i: u16[1531] = noise(0, 65535)\n%x = BitCast(%i) {to=\"f16\"}\n%y = Relu(%x)\n"
     "output %y\n"},
    {"elementwise.bits_of_halves_sign",
     "input %i: u16[1531] = noise(0, 65535)\n%x = BitCast(%i) {to=\"f16\"}\n%y = Sign(%x)\n"
     "output %y\n"},
    {"elementwise.bitshift_signed_left",
     "input %a: i8[37] = noise(-128, 127)\ninput %b: i8[37] = noise(-3, 9)\n"
     "%y = BitShift(%a, %b) {direction=\"LEFT\"}\noutput %y\n"},
    {"elementwise.bitshift_signed_right",
     "input %a: i32[5x37] = noise(-1000, 1000)\ninput %b: i32[37] = noise(-3, 40)\n"
     "%y = BitShift(%a, %b) {direction=\"RIGHT\"}\noutput %y\n"},
    {"elementwise.bitshift_left",
     "input %a: u8[13] = noise(0, 255)\ninput %b: u8[13] = noise(0, 9)\n"
     "%y = BitShift(%a, %b) {direction=\"LEFT\"}\noutput %y\n"},
    {"elementwise.cast_bool_to_f32",
     "input %x: bool[31] = noise(0, 1)\n%y = Cast(%x) {to=\"f32\"}\noutput %y\n"},
    {"elementwise.cast_f32_to_i32_beyond",
     "const %c: f32[12] = inf -inf nan 1e30 -1e30 2147483648 -2147483648 2147483520 0.9 -0.9 0 "
     "-3.5\n"
     "input %x: i8[2x12] = noise(0, 0)\n%f = Cast(%x) {to=\"f32\"}\n%s = Add(%f, %c)\n"
     "%y = Cast(%s) {to=\"i32\"}\noutput %y\n"},
    {"elementwise.cast_f32_to_i64_beyond",
     "const %c: f32[12] = inf -inf nan 1e30 -1e30 9223372036854775808 -9223372036854775808 9e18 "
     "0.9 -0.9 0 -3.5\n"
     "input %x: i8[2x12] = noise(0, 0)\n%f = Cast(%x) {to=\"f32\"}\n%s = Add(%f, %c)\n"
     "%y = Cast(%s) {to=\"i64\"}\noutput %y\n"},
    {"elementwise.cast_f32_to_u8_beyond",
     "const %c: f32[12] = inf -inf nan 6e4 -6e4 255.9 -0.9 256 0.9 -0.9 0 -3.5\n"
     "input %x: i8[2x12] = noise(0, 0)\n%f = Cast(%x) {to=\"f32\"}\n%s = Add(%f, %c)\n"
     "%y = Cast(%s) {to=\"u8\"}\noutput %y\n"},
    {"elementwise.functions_f64",
     "input %x: f64[5x37]\ninput %p: f64[37] = noise(0.1, 3)\n%a = Sin(%x)\n%b = Cos(%x)\n%c = "
     "Exp(%b)\n%d = Log(%p)\n"
     "%e = Sqrt(%p)\n%f = Pow(%p, %d)\n%g = Tanh(%x)\n%h = Sigmoid(%x)\n%i = Round(%x)\n%j = "
     "Floor(%x)\n"
     "%k = Reciprocal(%p)\n%l = Erf(%x)\n%m = Atan(%x)\noutput %a\noutput %c\noutput %e\noutput "
     "%f\noutput %g\n"
     "output %h\noutput %i\noutput %j\noutput %k\noutput %l\noutput %m\n"},
    {"elementwise.cast_f64_to_i8_beyond",
     "const %c: f64[12] = inf -inf nan 1e30 -1e30 127.9 -128.9 128 0.9 -0.9 0 -3.5\n"
     "input %x: i8[2x12] = noise(0, 0)\n%f = Cast(%x) {to=\"f64\"}\n%s = Add(%f, %c)\n"
     "%y = Cast(%s) {to=\"i8\"}\noutput %y\n"},
    {"elementwise.cast_f64_to_i64_beyond",
     "const %c: f64[12] = inf -inf nan 1e30 -1e30 9223372036854775808 -9223372036854775808 9e18 "
     "0.9 -0.9 0 -3.5\n"
     "input %x: i8[2x12] = noise(0, 0)\n%f = Cast(%x) {to=\"f64\"}\n%s = Add(%f, %c)\n"
     "%y = Cast(%s) {to=\"i64\"}\noutput %y\n"},
    {"elementwise.cast_f64_to_bool_beyond",
     "const %c: f64[12] = inf -inf nan 1e30 -1e30 0.5 -0.0 1e-300 0.9 -0.9 0 -3.5\n"
     "input %x: i8[2x12] = noise(0, 0)\n%f = Cast(%x) {to=\"f64\"}\n%s = Add(%f, %c)\n"
     "%y = Cast(%s) {to=\"bool\"}\noutput %y\n"},
    {"elementwise.cast_f32_to_f16", "input %x: f32[5x31]\n%y = Cast(%x) {to=\"f16\"}\noutput %y\n"},
    {"elementwise.cast_f32_to_i32",
     "input %x: f32[31] = noise(-9, 9)\n%y = Cast(%x) {to=\"i32\"}\noutput %y\n"},
    {"elementwise.cast_f32_to_u8",
     "input %x: f32[31] = noise(-99, 999)\n%y = Cast(%x) {to=\"u8\"}\noutput %y\n"},
    {"elementwise.cast_i64_to_f32",
     "input %x: i64[31] = noise(-99, 99)\n%y = Cast(%x) {to=\"f32\"}\noutput %y\n"},
    {"elementwise.cast_like",
     "input %x: f32[31] = noise(-9, 9)\ninput %l: i64[1]\n%y = CastLike(%x, %l)\noutput %y\n"},
    {"elementwise.cast_u8_to_f32_bench",
     "input %x: u8[1x3x512x512] = noise(0, 255)\n%y = Cast(%x) {to=\"f32\"}\noutput %y\n", true},
    {"elementwise.clip",
     "input %x: f32[3x37] = noise(-3, 9)\nconst %lo: f32[] = 0.0\nconst %hi: f32[] = 6.0\n"
     "%y = Clip(%x, %lo, %hi)\noutput %y\n"},
    {"elementwise.clip_i64",
     "input %x: i64[37] = noise(-9, 9)\nconst %hi: i64[] = 4\n%y = Clip(%x, _, %hi)\noutput %y\n"},
    {"elementwise.clip_f64_between_f32",
     "input %x: f64[37]\nconst %lo: f32[] = -0.5\nconst %hi: f32[] = 0.5\n"
     "%y = Clip(%x, %lo, %hi)\noutput %y\n"},
    {"elementwise.clip_unbounded", "input %x: f32[37]\n%y = Clip(%x)\noutput %y\n"},
    {"elementwise.div_i32",
     "input %a: i32[7x331] = noise(-99999, 99999)\ninput %b: i32[331] = noise(-3, 3)\n"
     "%y = Div(%a, %b)\noutput %y\n"},
    {"elementwise.div_i64",
     "input %a: i64[37] = noise(-99, 99)\ninput %b: i64[37] = noise(-3, 3)\n"
     "%y = Div(%a, %b)\noutput %y\n"},
    {"elementwise.gelu", "input %x: f32[7x37] = noise(-12, 12)\n%y = Gelu(%x)\noutput %y\n"},
    {"elementwise.gelu_tanh",
     "input %x: f32[3x37] = noise(-4, 4)\n%y = Gelu(%x) {approximate=\"tanh\"}\noutput %y\n"},
    {"elementwise.max_one", "input %x: f32[3x37]\n%y = Max(%x)\noutput %y\n"},
    {"elementwise.max_three",
     "input %a: f32[3x37]\ninput %b: f32[37]\ninput %c: f32[3x1]\n"
     "%y = Max(%a, %b, %c)\noutput %y\n"},
    {"elementwise.mean_three",
     "input %a: f32[3x37]\ninput %b: f32[37]\ninput %c: f32[3x1]\n"
     "%y = Mean(%a, %b, %c)\noutput %y\n"},
    {"elementwise.mod_fmod",
     "input %a: f32[37] = noise(-9, 9)\ninput %b: f32[37] = noise(-3, 3)\n"
     "%y = Mod(%a, %b) {fmod=1}\noutput %y\n"},
    {"elementwise.mod_i32",
     "input %a: i32[37] = noise(-9, 9)\ninput %b: i32[37] = noise(-3, 3)\n"
     "%y = Mod(%a, %b)\noutput %y\n"},
    {"elementwise.gates_of_images",
     "input %x: f32[3x24x5x7]\ninput %g: f32[3x24x1x1]\n%y = Mul(%x, %g)\n"
     "output %y\n"},
    {"elementwise.mul_channel_bench",
     "input %a: f32[1x96x56x56]\ninput %b: f32[1x96x1x1]\n%y = Mul(%a, %b)\noutput %y\n", true},
    {"elementwise.pow",
     "input %x: f32[3x37] = noise(0, 3)\ninput %e: f32[37]\n%y = Pow(%x, %e)\noutput %y\n"},
    {"elementwise.pow_i64_exponent",
     "input %x: f32[3x37]\nconst %e: i64[] = 2\n%y = Pow(%x, %e)\noutput %y\n"},
    {"elementwise.pow_integers",
     "input %x: i32[37] = noise(-4, 4)\ninput %e: i64[37] = noise(-1, 5)\n"
     "%y = Pow(%x, %e)\noutput %y\n"},
    {"elementwise.prelu_channel",
     "input %x: f32[2x5x7x3]\nconst %s: f32[5x1x1]\n%y = PRelu(%x, %s)\noutput %y\n"},
    {"elementwise.sigmoid_bench", "input %x: f32[1x64x80x80]\n%y = Sigmoid(%x)\noutput %y\n", true},
    {"elementwise.silu_chain",
     "input %x: f32[1x16x13x13] = noise(-4, 4)\n%s = Sigmoid(%x)\n%y = Mul(%x, %s)\noutput %y\n"},
    {"elementwise.where",
     "input %c: bool[3x1] = noise(0, 1)\ninput %a: f32[37]\ninput %b: f32[1]\n"
     "%y = Where(%c, %a, %b)\noutput %y\n"},
    {"elementwise.where_one_condition",
     "input %c: bool[1] = noise(0, 1)\ninput %a: i64[37] = noise(-9, 9)\n"
     "input %b: i64[1] = noise(-9, 9)\n%y = Where(%c, %a, %b)\noutput %y\n"},
    {"elementwise.where_i64",
     "input %c: bool[37] = noise(0, 1)\ninput %a: i64[37] = noise(-9, 9)\n"
     "input %b: i64[37] = noise(-9, 9)\n%y = Where(%c, %a, %b)\noutput %y\n"},
};

/// A type that shows each row at work, and a range that covers the bends of its function.
std::string Operand(const char* name, TypeSet types, std::string_view op, const char* shape) {
  std::string_view type = "i32", range = "noise(-9, 9)";
  if (types == kBoolType) type = "bool", range = "noise(0, 1)";
  if (types == kUnsignedTypes) type = "u32", range = "noise(0, 31)";
  if (types & TypeBit(DType::kF32)) {
    type = "f32";
    range = "noise(-4, 4)";
    if (op == "Log" || op == "Sqrt") range = "noise(0.01, 9)";
    if (op == "Acosh") range = "noise(1, 9)";
    if (op == "Acos" || op == "Asin" || op == "Atanh" || op == "Tan") range = "noise(-0.9, 0.9)";
  }
  return fmt::format("input %{}: {}[{}] = {}\n", name, type, shape, range);
}

/// The texts that generated cases point at.
class Generated {
 public:
  Generated() {
    cases_.assign(std::begin(kSpecialCases), std::end(kSpecialCases));
    for (const UnaryRow& row : UnaryRows()) {
      Add(row.name, Operand("x", row.types, row.name, "3x5x37") +
                        fmt::format("%y = {}(%x)\noutput %y\n", row.name));
    }
    for (const FoldRow& row : FoldRows()) {
      Add(row.name, Operand("a", row.types, row.name, "3x5x37") +
                        Operand("b", row.types, row.name, "5x1") +
                        fmt::format("%y = {}(%a, %b)\noutput %y\n", row.name));
    }
  }
  std::span<const Case> cases() const { return cases_; }

 private:
  void Add(std::string_view op, std::string graph) {
    const std::string& name = texts_.emplace_back(fmt::format("elementwise.{}", op));
    cases_.push_back({name, texts_.emplace_back(std::move(graph))});
  }

  std::deque<std::string> texts_;
  std::vector<Case> cases_;
};

}  // namespace

std::span<const Case> ElementwiseCases() {
  static const Generated generated;
  return generated.cases();
}

}  // namespace fettle::ops
