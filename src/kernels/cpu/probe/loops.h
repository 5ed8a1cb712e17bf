// Instructions that kernels are made of, run over and over in registers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fettle::kernels {

/// What the results of loops allow: sums stay exact in f32.
inline constexpr int64_t kMostRounds = int64_t{1} << 22;

/// One instruction, or the few that an inner loop repeats. Functions take 1 to kMostRounds rounds
/// and answer how many instructions they ran, or 0 where the registers do not hold in the end what
/// so many make of them.
struct RegisterLoop {
  std::string_view instruction;  // "fma f32"
  std::string_view isa;          // a SIMD target of Highway ("AVX3"), or the set ("avx512vnni")
  /// As many chains as hide the latency of one; null where only the latency is of interest.
  int64_t (*independent)(int64_t rounds) = nullptr;
  /// One chain, each waiting for the one before; null where there is no such thing.
  int64_t (*dependent)(int64_t rounds) = nullptr;
  std::string_view ceiling = {};  // the kind of arithmetic that it is: "fp32 fma"; "" none
  double operations = 0;          // of one instruction, in that arithmetic
  bool is_one = true;             // not a sequence
};

/// A loop, and whether this machine (under FETTLE_CPU_ISA) runs it.
struct ListedLoop {
  RegisterLoop loop;
  bool runs = false;
};

/// All of this build: of one kind of arithmetic the fastest first. Thread-safe.
const std::vector<ListedLoop>& ListLoops();

/// Loops of SIMD targets that the build has, best first (loops_simd.cc).
std::vector<ListedLoop> SimdLoops();
/// Loops of sets beyond those; empty where the build's target has none.
std::span<const RegisterLoop> LoopsAmx();
std::span<const RegisterLoop> LoopsAvx512Vnni();
std::span<const RegisterLoop> LoopsAvx512Bf16();
std::span<const RegisterLoop> LoopsAvx512Fp16();
std::span<const RegisterLoop> LoopsAvx512Vpopcntdq();

}  // namespace fettle::kernels
