#include "kernels/opencl/matmul/ladder.h"

namespace fettle::kernels {
namespace {

bool IsImage(const State& state) { return state.memory == MemoryKind::kImage2d; }

/// Whether B and C are images; A is one in any case.
template <bool kB, bool kC>
bool AreImages(const StateAssignment& states) {
  return states.inputs.size() > 1 && IsImage(states.inputs[1]) == kB &&
         IsImage(states.outputs[0]) == kC;
}

bool HasOneColumn(int64_t m, int64_t n) { return n == 1 && m != 1; }
bool HasOneRow(int64_t m, int64_t) { return m == 1; }

/// A tile of four warps: the usual ones may be of warpgroups.
const std::vector<std::pair<std::string_view, int64_t>> kWarps = {
    {"BM", 128}, {"BN", 128},   {"BK", 32},   {"WM", 64},       {"WN", 64},
    {"WK", 1},   {"STAGES", 3}, {"SPLIT", 1}, {"WARPGROUPS", 0}};

std::span<const LadderStep> FloatSteps() {
  static const std::vector<LadderStep> kSteps = {
      {"naive", "opencl.matmul.naive"},
      {"4x4, A transposed, vectors", "opencl.matmul.columns"},
      {"4x4, A and B images", "opencl.matmul.images", AreImages<true, false>},
      {"4x4, A image, B buffer", "opencl.matmul.images", AreImages<false, false>},
      {"4x4, C image too", "opencl.matmul.images", AreImages<true, true>},
      {"8x4, A buffer, B image", "opencl.matmul.buffer_image"},
      {"8x4, mul-add for fma", "opencl.matmul.buffer_image", nullptr, {{"FMA", 0}}},
      {"8x4, K unrolled by 2", "opencl.matmul.buffer_image", nullptr, {{"K_UNROLL", 2}}},
      {"tiles in local memory", "opencl.matmul.local"},
      {"tiles in registers", "opencl.matmul.registers", nullptr, {{"LX", 0}, {"LY", 0}}},
      {"the same, our work-group", "opencl.matmul.registers"},
      {"sub-group broadcast", "opencl.matmul.sub_groups"},
      {"split along K", "opencl.matmul.split_k"},
      {"matrix times vector", "opencl.matmul.vector", nullptr, {}, HasOneColumn},
      {"vector times matrix", "opencl.matmul.vector", nullptr, {}, HasOneRow},
      {"small products", "opencl.matmul.batched"},
      {"matrix instructions", "opencl.matmul.mma", nullptr, kWarps},
      {"the same, usual tiles", "opencl.matmul.mma"},
      {"matrix instructions, bf16", "opencl.matmul.mma.bf16"},
      {"matrix instructions, TF32", "opencl.matmul.mma.tf32"},
      {"matrix instructions, f32 in two parts", "opencl.matmul.mma.f32"}};
  return kSteps;
}

std::span<const LadderStep> ByteSteps() {
  static const std::vector<LadderStep> kSteps = {
      {"tiles in registers", "opencl.quantised.matmul", nullptr, {{"dot", 0}}},
      {"tiles in registers, four products at once",
       "opencl.quantised.matmul",
       nullptr,
       {{"dot", 1}}},
      {"matrix instructions", "opencl.quantised.matmul.mma", nullptr, kWarps},
      {"the same, usual tiles", "opencl.quantised.matmul.mma"}};
  return kSteps;
}

}  // namespace

ProductLadder OpenClProductLadder() { return {.floats = FloatSteps(), .bytes = ByteSteps()}; }

}  // namespace fettle::kernels
