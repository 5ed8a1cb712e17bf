// Weights of two steps whose products one 16-bit sum can hold, and what is left of them.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Weights of two steps, of four bytes of depth each.
inline constexpr int kPairedWeights = 8;
/// What the weights of a sign may come to in a 16-bit sum: 255 * 128 is below 2^15.
inline constexpr int kMostOfSign = 128;

/// Splits the weights of two steps, of -255 to 255 each, into bytes and a rest. vpmaddubsw adds the
/// products of bytes 0 and 1 of a step in one sum of 16 bits, those of bytes 2 and 3 in another;
/// the second step's are added to the same sums. In each of the two the positive bytes come to
/// kMostOfSign at most and the negative ones to as much, so that no u8 beside them makes it
/// overflow. As few steps as possible have a rest. On return `weights` are the rest.
void SplitPairedSteps(int16_t* weights, int8_t* bytes);

}  // namespace fettle::kernels
