// Products of bits that both ways to count on OpenCL devices are tested with: groups as text.
#pragma once

namespace fettle::kernels::bit_cases {

inline constexpr const char* kWeightsOfZero =
    "input %x: u64[2x4x3x1] = noise(0, 9007199254740991)\n"
    "const %w: u64[3x3x2x1] = noise(0, 9007199254740991)\n"
    "const %r: f32[3x3] = 0 0 0 1 0.5 -3 0 0 0\n"
    "%y = BinaryConv(%x, %w, %r) {channels=64, pads=[1,0,1,1]}\noutput %y\n";

inline constexpr const char* kBitsOfZero =
    "input %x: u64[1x4x3x1] = noise(0, 9007199254740991)\n"
    "const %w: u64[3x3x3x1] = noise(0, 9007199254740991)\n"
    "const %r: f32[3x3] = -1 -0.5 3 1 0.5 -3 0 1 0\n"
    "%y = BinaryConv(%x, %w, %r) {channels=64, x_zero=0.0, pads=[1,1,1,1]}\noutput %y\n";

/// Floats and what PackBits makes of them.
inline constexpr const char* kResidual =
    "input %x: u64[1x4x5x1] = noise(0, 9007199254740991)\ninput %s: f32[1x6x4x5]\n"
    "const %w: u64[6x1x1x1] = noise(0, 9007199254740991)\n"
    "const %r: f32[3x6] = -1 -0.5 -0.3 2 -1 3 1 0.5 0.3 -2 1 -3 0 0 0 0 0 0\n"
    "const %b: f32[6x1x1]\n%c = BinaryConv(%x, %w, %r) {channels=64}\n%y = Add(%c, %s)\n"
    "%h = Add(%y, %b)\n%t = PackBits(%h) {low=0.0, high=inf, invert=1}\noutput %y\noutput %t\n";

}  // namespace fettle::kernels::bit_cases
