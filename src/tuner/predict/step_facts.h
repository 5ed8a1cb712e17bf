// The facts about a step that predictions use: its kind and its least work. They are the same for a
// planned step and for a row that another device measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/kernel.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

struct StepFacts {
  std::string kernel;
  /// The operators that multiply and add ("Conv/1": of groups of one channel), else the first one;
  /// and all of them ("Conv/1+Relu"), of a conversion its states.
  std::string family, way;
  /// What the device's instructions are like (InstructionsOf).
  std::string instructions;
  DeviceKind device = DeviceKind::kCpu;
  int threads = 1;
  /// Constants come from memory (kColdProtocol).
  bool cold = false;
  /// By the operators and operands alone: a kernel of fewer operations counts as a faster one.
  kernels::Work work;
  /// Of the text of the problem and the kernel: the very same on another device.
  uint64_t problem = 0;
};

/// "avx512", "avx2", "neon" or "baseline" of a CPU; elsewhere the maker's name. One word, whatever
/// the fingerprint says.
std::string InstructionsOf(std::string_view fingerprint);

/// `problem_text`: RowKey::problem. `fingerprint`: of the device.
StepFacts FactsOf(const kernels::KernelDesc& kernel, const kernels::Problem& problem,
                  std::string_view problem_text, bool cold, std::string_view fingerprint);
StepFacts FactsOfConversion(const Shape& shape, const State& from, const State& to, int threads,
                            std::string_view fingerprint);

/// Of a row from any source: fails with kInvalidArgument or kUnsupported where its text is no
/// problem, is unreasonably large, or names a kernel that this build lacks.
Result<StepFacts> FactsOf(const RowKey& key);

}  // namespace fettle::tuner
