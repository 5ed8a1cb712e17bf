// Runs of element-wise nodes: chains, diamonds, broadcasts of every kind, several outputs. Single
// ones on integers.
#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ElementwiseChainCases() {
  static constexpr Case kCases[] = {
      {"chain.activations",
       "input %x: f32[2x7x5x19] = noise(-4, 4)\nconst %a: f32[] = 0.5\nconst %lo: f32[] = -1\n"
       "const %hi: f32[] = 2\n%t = Mul(%x, %a)\n%u = Tanh(%t)\n%v = Exp(%u)\n"
       "%y = Clip(%v, %lo, %hi)\noutput %y\n"},
      {"chain.bias_scale_residual",
       "input %x: f32[2x5x6x7]\ninput %r: f32[2x5x6x7]\nconst %s: f32[5x1x1]\nconst %b: "
       "f32[1x5x1x1]\n"
       "%t = Mul(%x, %s)\n%u = Add(%t, %b)\n%v = Add(%u, %r)\n%y = Relu(%v)\noutput %y\n"},
      {"chain.constant_tensor",
       "input %x: f32[1x5x6x7]\nconst %c: f32[1x5x6x7]\nconst %w: f32[7]\n"
       "%t = Sub(%c, %x)\n%y = Mul(%t, %w)\noutput %y\n"},
      {"chain.diamond_mish",
       "input %x: f32[1x16x9x9] = noise(-6, 6)\n%a = Softplus(%x)\n%b = Tanh(%a)\n"
       "%y = Mul(%x, %b)\noutput %y\n"},
      {"chain.diamond_two_paths",
       "input %x: f32[3x5x77] = noise(-2, 2)\n%a = Sigmoid(%x)\n%b = Exp(%x)\n%c = Mul(%a, %b)\n"
       "%y = Sub(%c, %x)\noutput %y\n"},
      {"chain.every_broadcast",
       "input %x: f32[3x4x5x6]\ninput %a: f32[3x1x5x1]\ninput %b: f32[4x1x6]\ninput %c: f32[1]\n"
       "%t = Add(%x, %a)\n%u = Mul(%t, %b)\n%y = Sub(%u, %c)\noutput %y\n"},
      {"chain.f16",
       "input %x: f16[2x33]\ninput %b: f16[33]\n%t = Add(%x, %b)\n%y = Sigmoid(%t)\noutput %y\n"},
      {"chain.hard_swish_spelled_out",
       "input %x: f32[1x24x14x14] = noise(-5, 5)\nconst %three: f32[] = 3\nconst %six: f32[] = 6\n"
       "const %zero: f32[] = 0\n%a = Add(%x, %three)\n%b = Clip(%a, %zero, %six)\n"
       "%c = Mul(%x, %b)\n%y = Div(%c, %six)\noutput %y\n"},
      {"chain.many_values_alive",
       "input %x: f32[2100]\n%a = Exp(%x)\n%b = Sin(%x)\n%c = Cos(%x)\n%d = Tanh(%x)\n"
       "%e = Add(%a, %b)\n%f = Add(%c, %d)\n%g = Mul(%e, %f)\n%h = Mul(%g, %a)\n"
       "%y = Add(%h, %b)\noutput %y\n"},
      {"chain.mask_and_select",
       "input %x: f32[5x31]\ninput %z: f32[5x31]\n%m = Greater(%x, %z)\n%n = Not(%m)\n"
       "%y = Where(%n, %x, %z)\noutput %y\n"},
      {"chain.normalise_picture",
       "input %x: u8[1x3x17x19] = noise(0, 255)\nconst %m: f32[3x1x1]\nconst %s: f32[3x1x1]\n"
       "%f = Cast(%x) {to=\"f32\"}\n%c = Sub(%f, %m)\n%y = Mul(%c, %s)\noutput %y\n"},
      {"chain.squeeze_and_excite",
       "input %x: f32[2x40x7x9]\ninput %g: f32[2x40x1x1]\n%s = HardSigmoid(%g)\n%y = Mul(%x, %s)\n"
       "output %y\n"},
      {"chain.swish_bench",
       "input %x: f32[1x96x112x112]\n%s = Sigmoid(%x)\n%y = Mul(%x, %s)\noutput %y\n", true},
      {"chain.two_outputs",
       "input %x: f32[3x50]\ninput %b: f32[50]\n%t = Add(%x, %b)\n%y = Relu(%t)\noutput %y\n"
       "output %t\n"},
      {"typed.add_i32_both_broadcast",
       "input %a: i32[7x1x5] = noise(-99, 99)\ninput %b: i32[3x1] = noise(-99, 99)\n"
       "%y = Add(%a, %b)\noutput %y\n"},
      {"typed.cast_i64_to_i32",
       "input %x: i64[5x31] = noise(-9999, 9999)\n%y = Cast(%x) {to=\"i32\"}\noutput %y\n"},
      {"typed.cast_i64_to_bool",
       "input %x: i64[31] = noise(-1, 1)\n%y = Cast(%x) {to=\"bool\"}\noutput %y\n"},
      {"typed.cast_i32_to_u8_wraps",
       "input %x: i32[131] = noise(-999, 999)\n%y = Cast(%x) {to=\"u8\"}\noutput %y\n"},
      {"typed.equal_i64_scalar",
       "input %x: i64[3x37] = noise(-3, 3)\nconst %c: i64[] = 2\n%y = Equal(%x, %c)\n"
       "output %y\n"},
      {"typed.mul_i64_bench",
       "input %x: i64[1x1024x1024] = noise(-99, 99)\nconst %c: i64[1024] = noise(-9, 9)\n"
       "%y = Mul(%x, %c)\noutput %y\n",
       true},
      {"typed.where_i64_broadcast",
       "input %c: bool[5x1x7]\ninput %a: i64[3x1] = noise(-9, 9)\ninput %b: i64[]\n"
       "%y = Where(%c, %a, %b)\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
