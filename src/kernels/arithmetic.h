// The facts about each arithmetic that kernels compute in, a row each. Messages, tolerances, bounds
// and limits of precision read these rows, so a new arithmetic needs an enumerator in kernel.h and
// a row here.
#pragma once

#include <array>
#include <string_view>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// What an arithmetic loses compared with f32.
enum class Loss : uint8_t { kNothing, kFactors, kResults };

struct ArithmeticRow {
  Arithmetic arithmetic;
  std::string_view name;  // in messages
  /// kFactors: both factors of each product are rounded. kResults: sums and everything else are
  /// rounded too.
  Loss loss = Loss::kNothing;
  /// Relative error of the rounded factors; 0 where the operands' storage type says more.
  double unit_roundoff = 0;
  /// What limits multiply-adds where a kernel does not say so itself: a name of docs/peaks.md.
  std::string_view ceiling = "fp32 fma";
};

/// In order of the enumerators.
inline constexpr std::array kArithmetics = {
    ArithmeticRow{Arithmetic::kF32, "f32"},
    ArithmeticRow{Arithmetic::kF16, "f16", Loss::kResults, 0, "fp16 fma"},
    ArithmeticRow{Arithmetic::kBF16, "bf16", Loss::kFactors, 0x1p-8},
    ArithmeticRow{Arithmetic::kTF32, "TF32", Loss::kFactors, 0x1p-11},
    ArithmeticRow{Arithmetic::kInt, "integers"},
    ArithmeticRow{Arithmetic::kBits, "bits", Loss::kNothing, 0, "bit dot"},
    ArithmeticRow{Arithmetic::kReference, "the reference's f32", Loss::kNothing, 0, "scalar"},
};

/// The row of `arithmetic`.
constexpr const ArithmeticRow& RowOf(Arithmetic arithmetic) {
  return kArithmetics[static_cast<int>(arithmetic)];
}

/// Whether kernels of this arithmetic lose precision that f32 would keep.
constexpr bool IsLossy(Arithmetic arithmetic) { return RowOf(arithmetic).loss != Loss::kNothing; }

}  // namespace fettle::kernels
